// A backend that stands on another one and fails on purpose, as `fake_faulty:SPEC`; TUTTI_FAKE_FAULTY_HOW says how. The
// self-test of the fault campaign needs failures of every kind.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tutti/spi/nested.hpp"

namespace tutti::test {
namespace {

// The operation at which failures come that need no fault.
constexpr int kFailingOperation = 5;

[[noreturn]] void hang() {
  for (;;) pause();
}

void leak(const std::string& how) {
  if (how == "leak_file") close(open("/dev/shm/tutti-fake-leak", O_CREAT | O_RDWR, 0600));
  if (how == "leak_thread") std::thread(hang).detach();
  if (how == "leak_process" && fork() == 0) {
    setsid();
    hang();
  }
}

/// Fails in the chosen way instead of throwing `error`.
[[noreturn]] void fail(const std::string& how, const Error& error) {
  if (how == "hang_at_failure") hang();
  if (how == "terminate") std::terminate();
  if (how == "late") std::this_thread::sleep_for(std::chrono::seconds(3));
  if (how == "wrong_rank") throw Error(error.code(), "rank 9 died");
  if (how == "wrong_code") throw Error(ErrorCode::backend_failure, error.what());
  if (how == "foreign") throw std::runtime_error("no Error of the library");
  throw error;
}

/// Calls the inner backend; its errors become failures.
template <typename Call>
auto guarded(const std::string& how, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    fail(how, error);
  }
}

class FaultyOperation final : public spi::PendingOperation {
 public:
  /// `corrupted`: a byte of the result that is changed, or null.
  FaultyOperation(std::unique_ptr<spi::PendingOperation> inner, std::string how, std::uint8_t* corrupted)
      : inner_(std::move(inner)), how_(std::move(how)), corrupted_(corrupted) {}

 private:
  bool do_poll() override {
    return corrupt_if(guarded(how_, [&] { return inner_->poll(); }));
  }
  bool do_wait(spi::Deadline until) override {
    return corrupt_if(guarded(how_, [&] { return inner_->wait(until); }));
  }
  bool corrupt_if(bool is_complete) {
    if (is_complete && corrupted_ != nullptr) *std::exchange(corrupted_, nullptr) ^= 1u;
    return is_complete;
  }

  std::unique_ptr<spi::PendingOperation> inner_;
  std::string how_;
  std::uint8_t* corrupted_;
};

class Faulty final : public spi::ForwardingCommunicator {
 public:
  Faulty(std::unique_ptr<spi::BackendCommunicator> inner, std::string how)
      : ForwardingCommunicator(std::move(inner)), how_(std::move(how)) {}
  using ForwardingCommunicator::inner;

 private:
  void do_run(const Operation& operation) override {
    if (++operations_ == kFailingOperation) {
      if (how_ == "hang") hang();
      if (how_ == "crash") std::raise(SIGSEGV);
    }
    guarded(how_, [&] { ForwardingCommunicator::do_run(operation); });
    if (std::uint8_t* byte = byte_to_corrupt(operation)) *byte ^= 1u;
  }

  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    return guarded(how_,
                   [&] { return wrapped(ForwardingCommunicator::do_start(operation), byte_to_corrupt(operation)); });
  }
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override {
    return guarded(how_, [&] { return wrapped(ForwardingCommunicator::do_start_group(operations)); });
  }

  [[nodiscard]] std::unique_ptr<spi::PendingOperation> wrapped(std::unique_ptr<spi::PendingOperation> inner,
                                                               std::uint8_t* corrupted = nullptr) const {
    return std::make_unique<FaultyOperation>(std::move(inner), how_, corrupted);
  }
  [[nodiscard]] std::uint8_t* byte_to_corrupt(const Operation& operation) const {
    const bool gives = operation.kind == OpKind::allreduce || operation.kind == OpKind::allgather ||
                       operation.kind == OpKind::alltoall;
    return gives && operation.count > 0 && how_ == "wrong_sum" ? static_cast<std::uint8_t*>(operation.output) : nullptr;
  }

  std::string how_;
  int operations_ = 0;
};

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result = spi::probe_backend(context.rest, context);
  result.preference = -1000;
  result.product.clear();
  return result;
}

extern const spi::BackendModule kModule;

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  spi::CreateContext inner = context;
  const auto* parent = spi::parent_of<Faulty>(context, kModule);
  if (parent != nullptr) inner.parent = &parent->inner();
  const std::string& how = context.config.text("TUTTI_FAKE_FAULTY_HOW");
  auto communicator = std::make_unique<Faulty>(spi::create_backend(context.rest, inner), how);
  if (parent == nullptr) leak(how);
  return communicator;
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_FAKE_FAULTY_HOW", .default_value = "nothing", .help = "The failure."}};

constexpr spi::BackendModule kModule = {.name = "fake_faulty",
                                        .variant = {},
                                        .description = "fake that fails on purpose",
                                        .settings = kSettings,
                                        .nests = true,
                                        .probe = probe,
                                        .create = create};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::test::kModule; }
