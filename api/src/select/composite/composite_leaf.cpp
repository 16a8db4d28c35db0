#include "select/composite/composite_leaf.hpp"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "select/composite/pending_thread.hpp"
#include "select/ownership.hpp"
#include "tutti/error.hpp"
#include "watch/watcher.hpp"

namespace tutti::spi {

namespace {

/// Between two looks at whether the other ranks have come.
constexpr std::chrono::microseconds kBetweenLooks{100};

Deadline deadline_of(const Operation& operation) {
  const auto limit = operation.timeout.count() > 0 ? operation.timeout : detail::kDefaultTimeout;
  return std::chrono::steady_clock::now() + limit;
}

}  // namespace

/// Operations that begin when their leaf exists.
class CompositeCommunicator::Leaf::Late final : public PendingOperation {
 public:
  Late(Leaf& leaf, std::span<const Operation> operations, bool as_group)
      : leaf_(leaf),
        operations_(operations.begin(), operations.end()),
        as_group_(as_group),
        until_(deadline_of(operations_.front())) {
    leaf_.waiting_.push_back(this);
  }
  ~Late() override { std::erase(leaf_.waiting_, this); }

  void begin(BackendCommunicator& made) noexcept {
    try {
      begun_ = as_group_ ? made.start_group(operations_) : made.start(operations_.front());
    } catch (...) {
      error_ = std::current_exception();
    }
  }

 private:
  bool do_poll() override { return has_begun() && begun_->poll(); }
  bool do_wait(Deadline until) override {
    while (!has_begun()) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::sleep_for(kBetweenLooks);
    }
    return begun_->wait(until);
  }

  [[nodiscard]] bool has_begun() {
    if (begun_ == nullptr && error_ == nullptr && !leaf_.advance()) check_time();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return begun_ != nullptr;
  }

  void check_time() {
    if (std::chrono::steady_clock::now() < until_) return;
    const std::string missing = leaf_.meeting_->missing();
    const Error error(ErrorCode::timeout,
                      describe(operations_.front()) + " timed out before " + leaf_.name() + " was created for it" +
                          (missing.empty() ? "" : "; " + missing + " has not entered"),
                      leaf_.name());
    if (leaf_.meeting_->call_off(error)) throw Error(error);
  }

  Leaf& leaf_;
  std::vector<Operation> operations_;
  bool as_group_;
  Deadline until_;
  std::unique_ptr<PendingOperation> begun_;
  std::exception_ptr error_;
};

/// A pending operation whose failure ends the other leaves as well.
class CompositeCommunicator::Leaf::Watched final : public PendingOperation {
 public:
  Watched(Leaf& leaf, std::unique_ptr<PendingOperation> pending, const Operation& operation)
      : leaf_(leaf), operation_(operation), pending_(std::move(pending), leaf, leaf.shared()) {}

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
      leaf_.fail(error, operation_);
    }
  }

  Leaf& leaf_;
  Operation operation_;
  LeafPending pending_;
};

CompositeCommunicator::Leaf::Leaf(CompositeCommunicator& composite, std::unique_ptr<BackendCommunicator> made)
    : BackendCommunicator(made->capabilities()), composite_(composite), owned_(std::move(made)), made_(owned_.get()) {
  Ownership::appear_as(*this, *owned_);
}

CompositeCommunicator::Leaf::Leaf(CompositeCommunicator& composite, LateLeaf late, const Rendezvous& rendezvous)
    : BackendCommunicator(late.capabilities), composite_(composite), late_(std::move(late)) {
  Ownership::appear_as(*this, late_.module, late_.name);
  std::vector<int> all(static_cast<std::size_t>(rendezvous.size()));
  std::iota(all.begin(), all.end(), 0);
  meeting_ = std::make_unique<LateMeeting>(rendezvous.subset(all, "leaf." + late_.name));
}

CompositeCommunicator::Leaf::~Leaf() = default;

bool CompositeCommunicator::Leaf::advance() {
  if (made() != nullptr) return true;
  if (broken_ != nullptr) std::rethrow_exception(broken_);
  if (!meeting_->all_came()) return false;
  create();
  return true;
}

void CompositeCommunicator::Leaf::create() {
  is_creating_ = true;
  try {
    owned_ = late_.create(meeting_->rendezvous());
  } catch (...) {
    is_creating_ = false;
    broken_ = std::current_exception();
    throw;
  }
  made_.store(owned_.get(), std::memory_order_release);
  composite_.take_into_use(*this);
  is_creating_ = false;
  // A thread that ended the communicator meanwhile has not seen this leaf.
  if (shared().failure.has_failed()) owned_->abort();
  for (Late* late : std::exchange(waiting_, {})) late->begin(*owned_);
}

void CompositeCommunicator::Leaf::make_now(const Operation& operation) {
  const Deadline until = deadline_of(operation);
  while (!advance()) {
    for (LeafPending* other : shared().all()) other->poll_itself();
    if (std::chrono::steady_clock::now() >= until) {
      const Error error(ErrorCode::timeout,
                        describe(operation) + " timed out before " + name() + " was created for it; " +
                            meeting_->missing() + " has not entered",
                        name());
      if (meeting_->call_off(error)) throw Error(error);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void CompositeCommunicator::Leaf::follow_other_leaf(const Operation& operation) {
  if (operation.stream.is_host() || shared().last_reached == nullptr || shared().last_on_stream == this) return;
  DeviceRuntime& runtime = device_runtime(operation.stream.device());
  if (&runtime == shared().last_runtime) {
    runtime.wait(operation.stream, *shared().last_reached);
  } else {
    shared().last_reached->wait();
  }
}

void CompositeCommunicator::Leaf::note_stream(const Operation& operation) {
  if (operation.stream.is_host() || composite_.leaves_.size() == 1) return;
  DeviceRuntime& runtime = device_runtime(operation.stream.device());
  shared().last_reached = runtime.record(operation.stream);
  shared().last_runtime = &runtime;
  shared().last_on_stream = this;
}

std::unique_ptr<PendingOperation> CompositeCommunicator::Leaf::start_any(std::span<const Operation> operations,
                                                                         bool as_group) {
  const bool on_stream =
      std::ranges::any_of(operations, [](const Operation& operation) { return !operation.stream.is_host(); });
  if (made() == nullptr) {
    // The application enqueues more work on the stream as soon as this returns.
    if (!on_stream) return std::make_unique<Late>(*this, operations, as_group);
    make_now(operations.front());
  }
  for (const Operation& operation : operations) follow_other_leaf(operation);
  auto pending = as_group ? made()->start_group(operations) : made()->start(operations.front());
  for (const Operation& operation : operations) note_stream(operation);
  return pending;
}

template <typename Call>
void CompositeCommunicator::Leaf::guarded(const Operation& operation, const Call& call) {
  if (shared().failure.has_failed()) [[unlikely]]
    shared().failure.rethrow(describe(operation));
  try {
    call();
  } catch (const Error& error) {
    fail(error, operation);
  }
}

void CompositeCommunicator::Leaf::do_run(const Operation& operation) {
  guarded(operation, [&] {
    if (made() == nullptr) make_now(operation);
    if (shared().all().empty()) {
      made()->run(operation);
      return;
    }
    if (made()->needs_watch() && !is_message(operation.kind)) {
      // A rank without pending operations calls the library's blocking function, which need not match a non-blocking
      // one.
      const PendingThread others(shared(), *this);
      made()->run(operation);
      return;
    }
    LeafPending pending(start_any({&operation, 1}, false), *this, shared());
    while (!pending.wait(Deadline::max())) {
    }
  });
}

bool CompositeCommunicator::Leaf::do_may_reach(const Operation& operation) const {
  return made() == nullptr || made()->may_reach(operation);
}

bool CompositeCommunicator::Leaf::do_reaches(const Operation& operation) {
  bool reached = false;
  guarded(operation, [&] {
    if (made() == nullptr) make_now(operation);
    reached = made()->reaches(operation);
  });
  return reached;
}

std::unique_ptr<PendingOperation> CompositeCommunicator::Leaf::do_start(const Operation& operation) {
  std::unique_ptr<PendingOperation> pending;
  guarded(operation, [&] { pending = std::make_unique<Watched>(*this, start_any({&operation, 1}, false), operation); });
  return pending;
}

std::unique_ptr<PendingOperation> CompositeCommunicator::Leaf::do_start_group(std::span<const Operation> operations) {
  std::unique_ptr<PendingOperation> pending;
  guarded(operations.front(),
          [&] { pending = std::make_unique<Watched>(*this, start_any(operations, true), operations.front()); });
  return pending;
}

std::vector<std::string> CompositeCommunicator::Leaf::do_settings() const {
  return made() == nullptr ? std::vector<std::string>() : made()->settings();
}

void CompositeCommunicator::Leaf::end(const Error& cause) noexcept {
  if (BackendCommunicator* const existing = made()) {
    existing->abort();
  } else {
    (void)meeting_->call_off(cause);
  }
}

bool CompositeCommunicator::Leaf::interrupt_made(const Error& cause) noexcept {
  if (BackendCommunicator* const existing = made()) return existing->interrupt(cause);
  return meeting_->call_off(cause) || !is_creating_;
}

void CompositeCommunicator::Leaf::fail(const Error& error, const Operation& operation) {
  // After interrupt() a leaf says that it was aborted; the cause is known.
  if (error.code() == ErrorCode::aborted && shared().failure.has_failed()) {
    shared().failure.rethrow(describe(operation));
  }
  if (ends_communicator(error.code()) && shared().failure.keep(error)) {
    shared().changed();
    for (const auto& leaf : composite_.leaves_) {
      if (leaf.get() != this || leaf->made() == nullptr) leaf->end(error);
    }
  }
  throw;
}

}  // namespace tutti::spi
