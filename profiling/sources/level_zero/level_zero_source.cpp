// Stands in front of the functions that initialise Level Zero, since a tracer can be made only after them.
#include <level_zero/ze_api.h>

#include "base/interpose/real_function.hpp"
#include "tracer.hpp"

namespace {

using tutti::interpose::RealFunction;

constinit RealFunction<decltype(&zeInit)> real_init{"zeInit"};
/// Of newer loaders; declared with the types that this header knows.
using InitDrivers = ze_result_t (*)(std::uint32_t*, ze_driver_handle_t*, void*);
constinit RealFunction<InitDrivers> real_init_drivers{"zeInitDrivers"};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags) {
  const auto real = real_init.get(__builtin_return_address(0));
  if (real == nullptr) return ZE_RESULT_ERROR_UNINITIALIZED;
  const ze_result_t result = real(flags);
  if (result == ZE_RESULT_SUCCESS) tutti::profiling::ze::start_tracer(reinterpret_cast<const void*>(real));
  return result;
}

__attribute__((visibility("default"))) ze_result_t ZE_APICALL zeInitDrivers(std::uint32_t* count,
                                                                            ze_driver_handle_t* drivers,
                                                                            void* description) {
  const auto real = real_init_drivers.get(__builtin_return_address(0));
  if (real == nullptr) return ZE_RESULT_ERROR_UNINITIALIZED;
  const ze_result_t result = real(count, drivers, description);
  if (result == ZE_RESULT_SUCCESS) tutti::profiling::ze::start_tracer(reinterpret_cast<const void*>(real));
  return result;
}
}
