// An observer module that counts what it sees and says so when the process exits.
#include "tutti/spi/observer_module.hpp"

#include <atomic>
#include <cstdio>

#include "tutti/observer.hpp"

namespace {

struct Counter final : tutti::Observer {
  using Observer::on;
  void on(const tutti::CommunicatorCreated& record) noexcept override { keys += record.key != 0 ? 1 : 0; }
  void on(const tutti::OpIssued&) noexcept override { ++operations; }
  std::atomic<int> keys = 0;
  std::atomic<int> operations = 0;
  tutti::ObserverHandle handle;
};
Counter& counter() {
  static auto* const one = new Counter;
  return *one;
}

constexpr tutti::spi::ObserverModule kModule = {
    .name = "counting",
    .description = "fake that counts",
    .start = [](const tutti::Config&) { counter().handle = tutti::add_observer(counter()); },
    .stop =
        []() noexcept {
          counter().handle.reset();
          std::fprintf(stderr, "counting: %d communicators, %d operations\n", counter().keys.load(),
                       counter().operations.load());
        }};

}  // namespace

extern "C" TUTTI_API const tutti::spi::ObserverModule* tutti_observer_module() { return &kModule; }
