#include "tutti/spi/composite.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "select/ownership.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/first_failure.hpp"
#include "tutti/spi/nested.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti::spi {

namespace {

/// How long one leaf is waited for before the pending operations of the others are looked at.
constexpr std::chrono::microseconds kSlice{50};

/// An operation of a leaf. It may be brought to its end by a wait for another operation; the outcome is then kept.
class LeafPending final : public PendingOperation {
 public:
  LeafPending(std::unique_ptr<PendingOperation> operation, std::vector<LeafPending*>& all)
      : operation_(std::move(operation)), all_(all) {
    all_.push_back(this);
  }
  ~LeafPending() override { std::erase(all_, this); }

 private:
  bool do_poll() override {
    poll_others();
    poll_itself();
    return outcome();
  }

  bool do_wait(Deadline until) override {
    while (!is_done_ && all_.size() > 1) {
      const Deadline slice = std::min(until, std::chrono::steady_clock::now() + kSlice);
      attempt([&] { return operation_->wait(slice); });
      poll_others();
      if (!is_done_ && std::chrono::steady_clock::now() >= until) return false;
    }
    if (!is_done_) attempt([&] { return operation_->wait(until); });
    return outcome();
  }

  template <typename Step>
  void attempt(const Step& step) noexcept {
    try {
      is_done_ = step();
    } catch (...) {
      is_done_ = true;
      error_ = std::current_exception();
    }
  }
  void poll_itself() noexcept {
    if (!is_done_) attempt([this] { return operation_->poll(); });
  }
  void poll_others() noexcept {
    for (LeafPending* other : all_) {
      if (other != this) other->poll_itself();
    }
  }
  [[nodiscard]] bool outcome() {
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return is_done_;
  }

  std::unique_ptr<PendingOperation> operation_;
  std::vector<LeafPending*>& all_;
  bool is_done_ = false;
  std::exception_ptr error_;
};

}  // namespace

struct CompositeCommunicator::Shared {
  std::vector<LeafPending*> pending;  ///< of all leaves, in the order of the calls
  FirstFailure failure;
};

/// A leaf as the core sees it.
class CompositeCommunicator::Leaf final : public ForwardingCommunicator {
 public:
  Leaf(CompositeCommunicator& composite, std::unique_ptr<BackendCommunicator> leaf)
      : ForwardingCommunicator(std::move(leaf)), composite_(composite) {
    Ownership::appear_as(*this, inner());
  }
  using ForwardingCommunicator::inner;

 private:
  void do_run(const Operation& operation) override {
    guarded(operation, [&] {
      if (shared().pending.empty()) [[likely]] {
        inner().run(operation);
      } else {
        LeafPending pending(inner().start(operation), shared().pending);
        while (!pending.wait(Deadline::max())) {
        }
      }
    });
  }
  bool do_reaches(const Operation& operation) override {
    bool reached = false;
    guarded(operation, [&] { reached = inner().reaches(operation); });
    return reached;
  }
  std::unique_ptr<PendingOperation> do_start(const Operation& operation) override {
    std::unique_ptr<PendingOperation> pending;
    guarded(operation, [&] { pending = make(inner().start(operation)); });
    return pending;
  }
  std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations) override {
    std::unique_ptr<PendingOperation> pending;
    guarded(operations.front(), [&] { pending = make(inner().start_group(operations)); });
    return pending;
  }
  void do_abort() noexcept override { composite_.abort(); }

  [[nodiscard]] Shared& shared() const noexcept { return *composite_.shared_; }

  /// A pending operation whose failure ends the other leaves as well.
  class Watched final : public PendingOperation {
   public:
    Watched(Leaf& leaf, std::unique_ptr<PendingOperation> operation)
        : leaf_(leaf), pending_(std::move(operation), leaf.shared().pending) {}

   private:
    bool do_poll() override {
      return watched([this] { return pending_.poll(); });
    }
    bool do_wait(Deadline until) override {
      return watched([&] { return pending_.wait(until); });
    }
    template <typename Step>
    bool watched(const Step& step) {
      try {
        return step();
      } catch (const Error& error) {
        leaf_.fail(error);
        throw;
      }
    }

    Leaf& leaf_;
    LeafPending pending_;
  };
  [[nodiscard]] std::unique_ptr<PendingOperation> make(std::unique_ptr<PendingOperation> operation) {
    return std::make_unique<Watched>(*this, std::move(operation));
  }

  void fail(const Error& error) {
    if (!ends_communicator(error.code()) || !shared().failure.keep(error)) return;
    for (const auto& leaf : composite_.leaves_) {
      if (leaf.get() != this) leaf->inner().abort();
    }
  }

  template <typename Call>
  void guarded(const Operation& operation, const Call& call) {
    if (shared().failure.has_failed()) [[unlikely]]
      shared().failure.rethrow(describe(operation));
    try {
      call();
    } catch (const Error& error) {
      fail(error);
      throw;
    }
  }

  CompositeCommunicator& composite_;
};

namespace {

Capabilities common_capabilities(std::span<const std::unique_ptr<BackendCommunicator>> leaves) {
  Capabilities common = leaves.front()->capabilities();
  for (const auto& leaf : leaves.subspan(1)) common = common & leaf->capabilities();
  return common;
}

}  // namespace

CompositeCommunicator::CompositeCommunicator(std::vector<std::unique_ptr<BackendCommunicator>> leaves)
    : BackendCommunicator(common_capabilities(leaves)), shared_(std::make_unique<Shared>()) {
  for (auto& leaf : leaves) leaves_.push_back(std::make_unique<Leaf>(*this, std::move(leaf)));
}

CompositeCommunicator::~CompositeCommunicator() = default;

BackendCommunicator& CompositeCommunicator::leaf(std::size_t index) const noexcept { return leaves_[index]->inner(); }

BackendCommunicator& CompositeCommunicator::do_route(const Operation& operation) { return *leaves_[choose(operation)]; }

void CompositeCommunicator::do_run(const Operation& operation) { leaves_[choose(operation)]->run(operation); }

bool CompositeCommunicator::do_may_reach(const Operation& operation) const {
  return leaves_[choose(operation)]->may_reach(operation);
}

bool CompositeCommunicator::do_reaches(const Operation& operation) {
  return leaves_[choose(operation)]->reaches(operation);
}

std::unique_ptr<PendingOperation> CompositeCommunicator::do_start(const Operation& operation) {
  return leaves_[choose(operation)]->start(operation);
}

std::unique_ptr<PendingOperation> CompositeCommunicator::do_start_group(std::span<const Operation> operations) {
  std::vector<std::unique_ptr<PendingOperation>> pending;
  for (std::size_t index = 0; index < leaves_.size(); ++index) {
    std::vector<Operation> own;
    for (const Operation& operation : operations) {
      if (choose(operation) == index) own.push_back(operation);
    }
    if (!own.empty()) pending.push_back(leaves_[index]->start_group(own));
  }
  return std::make_unique<PendingGroup>(std::move(pending));
}

void CompositeCommunicator::do_abort() noexcept {
  for (const auto& leaf : leaves_) leaf->inner().abort();
}

bool CompositeCommunicator::do_needs_watch() const noexcept {
  return std::ranges::any_of(leaves_, [](const auto& leaf) { return leaf->inner().needs_watch(); });
}

bool CompositeCommunicator::do_interrupt(const Error& cause) noexcept {
  (void)shared_->failure.keep(cause);
  bool all = true;
  for (const auto& leaf : leaves_) all = leaf->inner().interrupt(cause) && all;
  return all;
}

void CompositeCommunicator::do_close() noexcept {
  for (const auto& leaf : leaves_) leaf->inner().close();
}

}  // namespace tutti::spi
