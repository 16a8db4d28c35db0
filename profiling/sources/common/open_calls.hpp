#pragma once

#include <array>
#include <cstdint>

#include "sources/common/memory_ranges.hpp"

namespace tutti::profiling {

/// A call that has begun and not ended, as a source sees it that is called back at both.
struct OpenCall {
  std::uint64_t key = 0;       ///< the same at the begin and at the end
  std::uint64_t begin_ns = 0;  ///< 0: nothing recorded then
  MemoryBlock released = {};   ///< of a call that frees memory
};

/// The open calls of a thread, innermost last. Calls below a depth that no program reaches are not kept. `Source`: any
/// type that belongs to the source.
template <typename Source>
class OpenCalls {
 public:
  /// Never null; an entry beyond the depth is shared and its content worthless.
  static OpenCall& push(std::uint64_t key) noexcept {
    OpenCall& call = calls[depth < kDepth ? depth : kDepth];
    call = {.key = key};
    ++depth;
    return call;
  }
  /// The innermost call with this key. Forgets calls inside of it: their end was never reported. Returns an empty call
  /// if there is none, e.g. since the source was not there when it began.
  static OpenCall pop(std::uint64_t key) noexcept {
    for (std::size_t i = depth; i > 0; --i) {
      if (i <= kDepth && calls[i - 1].key == key) {
        depth = i - 1;
        return calls[i - 1];
      }
    }
    if (depth > kDepth) --depth;
    return {};
  }

 private:
  static constexpr std::size_t kDepth = 32;
  static inline constinit thread_local std::array<OpenCall, kDepth + 1> calls{};
  static inline constinit thread_local std::size_t depth = 0;
};

}  // namespace tutti::profiling
