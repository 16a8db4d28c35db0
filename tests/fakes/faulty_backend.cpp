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
    try {
      ForwardingCommunicator::do_run(operation);
    } catch (const Error& error) {
      fail(error);
    }
    const bool gives = operation.kind == OpKind::allreduce || operation.kind == OpKind::allgather ||
                       operation.kind == OpKind::alltoall;
    if (gives && operation.count > 0 && how_ == "wrong_sum") *static_cast<std::uint8_t*>(operation.output) ^= 1u;
  }

  [[noreturn]] void fail(const Error& error) const {
    if (how_ == "hang_at_failure") hang();
    if (how_ == "terminate") std::terminate();
    if (how_ == "late") std::this_thread::sleep_for(std::chrono::seconds(3));
    if (how_ == "wrong_rank") throw Error(error.code(), "rank 9 died");
    if (how_ == "wrong_code") throw Error(ErrorCode::backend_failure, error.what());
    if (how_ == "foreign") throw std::runtime_error("no Error of the library");
    throw error;
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
