#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "select/composite/late_meeting.hpp"
#include "select/composite/leaf_pending.hpp"
#include "tutti/spi/composite.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/first_failure.hpp"

namespace tutti::spi {

/// Common to the leaves of a composite.
struct CompositeCommunicator::Shared final : PendingList {
  explicit Shared(CompositeCommunicator& whole) noexcept : composite(whole) {}

  /// Decides whether calls may go to the leaves directly.
  void changed() noexcept override {
    const bool is_quick = all().empty() && !failure.has_failed();
    composite.quick_.store(is_quick ? quick.data() : slow.data(), std::memory_order_release);
  }

  CompositeCommunicator& composite;
  std::vector<BackendCommunicator*> quick;  ///< by leaf: its communicator; the leaf while there is none
  std::vector<BackendCommunicator*> slow;   ///< by leaf: the leaf
  FirstFailure failure;
  Leaf* last_on_stream = nullptr;             ///< of the last operation on a device stream
  DeviceRuntime* last_runtime = nullptr;      ///< of that stream
  std::unique_ptr<DeviceEvent> last_reached;  ///< when that operation has ended
};

/// A leaf as the core sees it: exists from the beginning, also if its communicator does not.
class CompositeCommunicator::Leaf final : public BackendCommunicator {
 public:
  Leaf(CompositeCommunicator& composite, std::unique_ptr<BackendCommunicator> made);
  Leaf(CompositeCommunicator& composite, LateLeaf late, const Rendezvous& rendezvous);
  ~Leaf() override;

  /// The communicator of the backend, or null.
  [[nodiscard]] BackendCommunicator* made() const noexcept { return made_.load(std::memory_order_acquire); }
  /// In a handler: ends the other leaves if the error ends the communicator, and throws it again.
  [[noreturn, gnu::cold]] void fail(const Error& error, const Operation& operation);

  // The following are for all leaves of the composite; callable from any thread.
  void end(const Error& cause) noexcept;
  [[nodiscard]] bool interrupt_made(const Error& cause) noexcept;

 private:
  class Late;
  class Watched;

  /// Beside operations that are pending, or before the leaf exists.
  void do_run(const Operation& operation) override;
  bool do_may_reach(const Operation& operation) const override;
  bool do_reaches(const Operation& operation) override;
  std::unique_ptr<PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override { composite_.abort(); }
  [[nodiscard]] std::vector<std::string> do_settings() const override;

  [[nodiscard]] Shared& shared() const noexcept { return *composite_.shared_; }

  [[nodiscard]] std::unique_ptr<PendingOperation> start_any(std::span<const Operation> operations, bool as_group);
  /// Goes on with the creation as far as possible without a wait for ranks that have not come; true once it exists.
  bool advance();
  void create();
  /// Returns when the leaf exists; goes on with what is pending meanwhile.
  void make_now(const Operation& operation);
  /// Orders operations on device streams behind that of another leaf: libraries that wait for their peers inside of
  /// kernels could block each other.
  void follow_other_leaf(const Operation& operation);
  void note_stream(const Operation& operation);

  template <typename Call>
  void guarded(const Operation& operation, const Call& call);

  CompositeCommunicator& composite_;
  std::unique_ptr<BackendCommunicator> owned_;
  std::atomic<BackendCommunicator*> made_ = nullptr;

  // Of a leaf that is created late.
  LateLeaf late_;
  std::unique_ptr<LateMeeting> meeting_;
  std::vector<Late*> waiting_;  ///< operations that begin when the leaf exists, in the order of the calls
  std::exception_ptr broken_;   ///< the error of the creation
  std::atomic<bool> is_creating_ = false;
};

}  // namespace tutti::spi
