#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <string_view>

#include "session/recorder.hpp"

namespace tutti::profiling::cuda {

/// A function of the CUDA runtime or driver in the session.
struct CallName {
  NameId name = 0;
  bool is_query = false;  ///< only asks for something, at a high rate
};

/// The name without the version that CUPTI adds to functions of the runtime: "cudaMalloc" for "cudaMalloc_v3020".
[[nodiscard]] std::string_view without_version(std::string_view function) noexcept;

/// Whether the function only asks for something and is called at a high rate.
[[nodiscard]] bool is_query(std::string_view function) noexcept;

/// Names of functions by CUPTI's numbers: made at the first call, later a load. Thread-safe.
class CallNames {
 public:
  [[nodiscard]] CallName get(CUpti_CallbackDomain domain, CUpti_CallbackId number, const char* function) noexcept;

 private:
  static constexpr std::size_t kDomains = 2;  ///< driver and runtime
  static constexpr std::size_t kFunctions = 2048;
  static constexpr std::uint32_t kQueryBit = std::uint32_t{1} << 31U;
  std::array<std::array<std::atomic<std::uint32_t>, kFunctions>, kDomains> names_{};
};

}  // namespace tutti::profiling::cuda
