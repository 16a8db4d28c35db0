#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "sources/common/memory_ranges.hpp"

namespace tutti::profiling {

/// Names of a function's traffic by direction, "urEnqueueUSMMemcpy(H2D)", or by place alone, "zeMemAdvise(D)". A name
/// is made at its first use; later uses are a load.
class TrafficNames {
 public:
  [[nodiscard]] NameId copy(std::string_view function, MemoryPlace from, MemoryPlace to) noexcept {
    const auto row = static_cast<std::size_t>(from);
    const auto column = static_cast<std::size_t>(to);
    return get(copies_[row * kMemoryPlaceCount + column], function,
               {kMemoryPlaceLetters[row], '2', kMemoryPlaceLetters[column]});
  }
  [[nodiscard]] NameId touch(std::string_view function, MemoryPlace place) noexcept {
    const auto index = static_cast<std::size_t>(place);
    return get(touches_[index], function, {kMemoryPlaceLetters[index], '\0', '\0'});
  }

 private:
  // Relaxed: threads that meet here get the same number from the recorder.
  static NameId get(std::atomic<NameId>& slot, std::string_view function, std::array<char, 3> letters) noexcept {
    NameId name = slot.load(std::memory_order_relaxed);
    if (name != 0) return name;
    std::array<char, 128> text{};
    std::size_t length = 0;
    const auto put = [&](char letter) {
      if (letter != '\0' && length < text.size()) text[length++] = letter;
    };
    for (const char letter : function.substr(0, 100)) put(letter);
    put('(');
    for (const char letter : letters) put(letter);
    put(')');
    name = intern({text.data(), length});
    slot.store(name, std::memory_order_relaxed);
    return name;
  }

  std::array<std::atomic<NameId>, kMemoryPlaceCount * kMemoryPlaceCount> copies_{};
  std::array<std::atomic<NameId>, kMemoryPlaceCount> touches_{};
};

/// Names of memory in the table of allocations, by place.
[[nodiscard]] inline NameId memory_name(MemoryPlace place) noexcept {
  static std::array<std::atomic<NameId>, kMemoryPlaceCount> names{};
  constexpr std::array<std::string_view, kMemoryPlaceCount> kTexts = {"memory", "host memory", "device memory",
                                                                      "shared memory"};
  const auto index = static_cast<std::size_t>(place);
  NameId name = names[index].load(std::memory_order_relaxed);
  if (name == 0) {
    name = intern(kTexts[index]);
    names[index].store(name, std::memory_order_relaxed);
  }
  return name;
}

}  // namespace tutti::profiling
