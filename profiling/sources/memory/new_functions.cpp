// The operators new, by their names in the object code: the C++ library's own call malloc, and without these the memory
// of all C++ code would seem to be the C++ library's.
#include <cstdlib>
#include <new>

#include "base/interpose/real_function.hpp"
#include "sources/memory/memory_source.hpp"

namespace {

using tutti::interpose::RealFunction;
using tutti::profiling::memory::CallerScope;

/// The real operator new; a search that is under way gets memory of malloc.
template <typename Function, typename... Arguments>
void* call_real(RealFunction<Function>& real, const void* code, std::size_t bytes, Arguments... arguments) {
  const CallerScope scope(code);
  if (const Function function = real.get(code)) return function(bytes, arguments...);
  return std::malloc(bytes);
}

}  // namespace

#define TUTTI_WATCHED extern "C" __attribute__((visibility("default")))
#define TUTTI_CALLER __builtin_return_address(0)

#define TUTTI_NEW(symbol, throws, parameters, types, ...)             \
  TUTTI_WATCHED void* symbol parameters throws;                       \
  static constinit RealFunction<void*(*)types> real##symbol(#symbol); \
  TUTTI_WATCHED void* symbol parameters throws { return call_real(real##symbol, TUTTI_CALLER, __VA_ARGS__); }

TUTTI_NEW(_Znwm, , (std::size_t bytes), (std::size_t), bytes)
TUTTI_NEW(_Znam, , (std::size_t bytes), (std::size_t), bytes)
TUTTI_NEW(_ZnwmRKSt9nothrow_t, noexcept, (std::size_t bytes, const std::nothrow_t* tag),
          (std::size_t, const std::nothrow_t*), bytes, tag)
TUTTI_NEW(_ZnamRKSt9nothrow_t, noexcept, (std::size_t bytes, const std::nothrow_t* tag),
          (std::size_t, const std::nothrow_t*), bytes, tag)
TUTTI_NEW(_ZnwmSt11align_val_t, , (std::size_t bytes, std::size_t alignment), (std::size_t, std::size_t), bytes,
          alignment)
TUTTI_NEW(_ZnamSt11align_val_t, , (std::size_t bytes, std::size_t alignment), (std::size_t, std::size_t), bytes,
          alignment)
TUTTI_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, noexcept,
          (std::size_t bytes, std::size_t alignment, const std::nothrow_t* tag),
          (std::size_t, std::size_t, const std::nothrow_t*), bytes, alignment, tag)
TUTTI_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, noexcept,
          (std::size_t bytes, std::size_t alignment, const std::nothrow_t* tag),
          (std::size_t, std::size_t, const std::nothrow_t*), bytes, alignment, tag)
