#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ccl_api.hpp"
#include "ccl_turns.hpp"
#include "ccl_workspace.hpp"
#include "tutti/operation.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::ccl {

/// One communicator of oneCCL and the calls on it, one at a time.
class Channel {
 public:
  /// The members of `rendezvous` meet by one of oneCCL's key-value stores, which the first of them serves, in its turn.
  /// Blocks until all have come; throws Error.
  Channel(const Api& api, Turns& turns, const Rendezvous& rendezvous);
  /// The same for memory of the device and context of a workspace.
  Channel(const Api& api, Turns& turns, const Rendezvous& rendezvous, const QueueBridge& queues,
          const Workspace& workspace);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] Handle* handle() const noexcept { return handle_; }

  /// Carries an operation on host memory out to its end. Throws Error{backend_failure} with oneCCL's words.
  void carry_out(const Operation& operation) { carry_out(operation, host_); }
  /// The same on memory of the context of `workspace`, where the channel is one for devices. The stream of the
  /// workspace orders it.
  void carry_out(const Operation& operation, Workspace& workspace);
  /// Leaves the end to that stream where oneCCL does.
  void enqueue(const Operation& operation, Workspace& workspace);

 private:
  /// Meets the others; `make` makes the communicator out of the store.
  template <typename Make>
  void meet(Turns& turns, const Rendezvous& rendezvous, const Make& make);
  /// Whether there is anything to do on any rank.
  [[nodiscard]] static bool is_empty(const Operation& operation) noexcept;
  void use(Workspace& workspace);
  [[noreturn]] void fail(const Operation& operation, int code);
  [[nodiscard]] int issue(const Operation& operation, Event* event);
  [[nodiscard]] int issue_gather(const Operation& operation, Event* event);
  [[nodiscard]] int issue_scatter(const Operation& operation, Event* event);
  [[nodiscard]] int exchange(const Operation& operation, const void* in, const std::uint64_t* in_counts, void* out,
                             const std::uint64_t* out_counts, Event* event);

  /// Counts for a block from or to one rank and nothing else. Valid until the next call.
  [[nodiscard]] const std::uint64_t* only(int peer, std::uint64_t count);
  /// The layout, or one of equal blocks where there is none. Valid until the next call.
  [[nodiscard]] BlockLayout layout_or_equal(const BlockLayout& layout, std::uint64_t count);
  /// The blocks without gaps: where they are, or a copy.
  [[nodiscard]] const void* packed(const BlockLayout& layout, const void* base, std::size_t width);
  /// Where blocks may be received without gaps: where they belong, or scratch memory that unpack() empties.
  [[nodiscard]] void* receive(const BlockLayout& layout, void* base, std::size_t width);
  void unpack();

  const Api& api_;
  int rank_;
  int size_;
  Handle* handle_ = nullptr;
  // Counts per rank, for operations that oneCCL has under another name.
  std::vector<std::uint64_t> nothing_;
  std::vector<std::uint64_t> only_;
  std::vector<std::uint64_t> equal_;
  const QueueBridge* queues_ = nullptr;  ///< null: for host memory
  std::uint64_t bound_ = 0;              ///< number of the workspace whose stream oneCCL uses
  Workspace host_;
  Workspace* workspace_ = &host_;  ///< of the operation under way
  struct {
    BlockLayout layout;
    void* base = nullptr;
    std::size_t width = 0;
  } unpacking_;
};

/// "allreduce(sum) of 4 float32 (16 B) on rank 0 of 2 (ccl)", for messages.
[[nodiscard]] std::string where(const Operation& operation, int rank, int size);

}  // namespace tutti::ccl
