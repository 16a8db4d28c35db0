#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/export.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::spi {

/// Base of communicators that pass each operation to one of several others, their leaves. A derived class only
/// chooses. The leaves progress together: a wait for an operation of one of them also progresses the pending operations
/// of the others, on which a peer may depend. The first failure of a leaf ends all of them. Operations on device
/// streams that go to different leaves run one after the other, in the order of the calls.
class TUTTI_API CompositeCommunicator : public BackendCommunicator {
 public:
  /// A leaf that is created when an operation first goes to it. All ranks then meet without blocking, so that pending
  /// operations go on, and create it together.
  struct LateLeaf {
    std::string name;
    const BackendModule* module = nullptr;
    Capabilities capabilities;
    /// Collective; the scope of the rendezvous belongs to this call.
    std::function<std::unique_ptr<BackendCommunicator>(const Rendezvous&)> create;
  };

  ~CompositeCommunicator() override;

  [[nodiscard]] std::size_t leaves() const noexcept { return leaves_.size(); }
  /// A leaf that exists, as it was given to the constructor: e.g. as the parent of a leaf of a new communicator.
  [[nodiscard]] BackendCommunicator& leaf(std::size_t index) const noexcept;

 protected:
  /// At least one leaf, all over the same ranks.
  explicit CompositeCommunicator(std::vector<std::unique_ptr<BackendCommunicator>> leaves);

  /// The first leaf exists, the others come late. `capabilities`: those of the whole; choose() gives every operation
  /// within them to a leaf that has it.
  CompositeCommunicator(const Capabilities& capabilities, std::unique_ptr<BackendCommunicator> first,
                        std::vector<LateLeaf> later, const Rendezvous& rendezvous);

  /// run() on a leaf: for a derived class that overrides do_run() because it has a faster way to choose.
  void run_on(std::size_t index, const Operation& operation) {
    BackendCommunicator& leaf = *quick_.load(std::memory_order_acquire)[index];
    try {
      leaf.run(operation);
    } catch (const Error& error) {
      fail(leaf, error, operation);
    }
  }

 private:
  class Leaf;
  struct Shared;

  void take_all_into_use();
  void take_into_use(const Leaf& made) noexcept;
  /// In a handler of an error of a leaf, as run_on() sees the leaf.
  [[noreturn, gnu::cold]] void fail(const BackendCommunicator& leaf, const Error& error, const Operation& operation);

  /// Index of the leaf for an operation: the same on all ranks, see common_bytes().
  [[nodiscard]] virtual std::size_t choose(const Operation& operation) const noexcept = 0;

  BackendCommunicator& do_route(const Operation& operation) final;
  void do_run(const Operation& operation) override;
  bool do_may_reach(const Operation& operation) const final;
  bool do_reaches(const Operation& operation) final;
  std::unique_ptr<PendingOperation> do_start(const Operation& operation) final;
  std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations) final;
  void do_abort() noexcept final;
  [[nodiscard]] bool do_needs_watch() const noexcept final;
  bool do_interrupt(const Error& cause) noexcept final;
  void do_close() noexcept final;

  /// By leaf its communicator, or, where a call needs more than its run(), the leaf itself.
  std::atomic<BackendCommunicator* const*> quick_ = nullptr;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
};

}  // namespace tutti::spi
