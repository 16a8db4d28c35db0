#pragma once

#include <cstdint>

/// The part of the XPTI tracing framework that a subscriber needs. Declared here, because packages of SYCL do not have
/// to contain its headers.
namespace tutti::profiling::xpti {

/// Types of trace points: a number, and a bit that is set at the end of what the point stands for.
inline constexpr std::uint16_t kFunctionWithArgumentsBegin = 14 << 1;
inline constexpr std::uint16_t kFunctionWithArgumentsEnd = 14 << 1 | 1;

/// A call of a function, as the trace points above describe it.
struct FunctionWithArguments {
  std::uint32_t function_id;
  const char* function_name;
  void* arguments;  ///< the addresses of the arguments, one after the other
  void* result;     ///< at the end: the address of the result
  void* user_data;
};

using Callback = void (*)(std::uint16_t trace_type, void* parent, void* event, std::uint64_t instance,
                          const void* user_data);
using RegisterStream = std::uint8_t (*)(const char* stream);
using RegisterCallback = std::int32_t (*)(std::uint8_t stream, std::uint16_t trace_type, Callback callback);

}  // namespace tutti::profiling::xpti
