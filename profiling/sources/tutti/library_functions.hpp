#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "session/recorder.hpp"

namespace tutti::profiling {

/// A function of a library that tutti calls, as the tables know it.
struct LibraryFunction {
  NameId name = 0;
  SourceId source = 0;
  bool is_wanted = false;      ///< by the session: its source, and its kind in this mode
  std::int64_t not_ready = 0;  ///< result that is no error; 0: none
};

/// The functions seen so far by the addresses of their names, which have static storage. A lookup takes no lock and
/// compares no text.
class LibraryFunctions {
 public:
  /// `tutti_source`: the source of libraries that are no source of their own.
  [[nodiscard]] LibraryFunction of(std::string_view library, std::string_view function, SourceId tutti_source) noexcept;

 private:
  static constexpr std::size_t kSlots = 1024;
  struct Slot {
    std::atomic<const char*> key = nullptr;
    std::atomic<bool> is_complete = false;
    LibraryFunction function;
  };
  std::array<Slot, kSlots> slots_ = {};
};

}  // namespace tutti::profiling
