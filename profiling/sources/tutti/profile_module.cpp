// The observer module "profile": brings tutti's own records into a profiling session.
#include "sources/tutti/profile_observer.hpp"
#include "tutti/spi/observer_module.hpp"

namespace tutti::profiling {
namespace {

ProfileObserver& observer_of_process() {
  // Never destroyed: threads and static communicators may report until the process ends.
  static auto* const one = new ProfileObserver;
  return *one;
}

ObserverHandle& handle() {
  static auto* const one = new ObserverHandle;
  return *one;
}

void start_observing(const Config&) {
  (void)observer_of_process();
  set_context_finder([]() noexcept -> ContextId { return observer_of_process().context_of_thread(); });
  handle() = add_observer(observer_of_process());
  if (keeps_timeline()) spi::set_tensor_stage_observer(&observer_of_process());
}

void stop_observing() noexcept {
  spi::set_tensor_stage_observer(nullptr);
  handle().reset();
}

constexpr spi::ObserverModule kModule = {.name = "profile",
                                         .description = "tutti's operations, calls, memory and traffic in a profile",
                                         .start = start_observing,
                                         .stop = stop_observing};

}  // namespace
}  // namespace tutti::profiling

extern "C" TUTTI_API const tutti::spi::ObserverModule* tutti_observer_module() { return &tutti::profiling::kModule; }
