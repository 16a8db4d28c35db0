#pragma once

#include <cstddef>
#include <string_view>

namespace tutti::profiling {

/// The symbol table for debuggers of a loaded library, read from its file: newer SYCL libraries contain the Unified
/// Runtime and do not export its functions. Empty if the library was stripped.
class LocalSymbols {
 public:
  /// Takes the first loaded object whose file name begins with `prefix`.
  explicit LocalSymbols(std::string_view prefix) noexcept;
  ~LocalSymbols();
  LocalSymbols(const LocalSymbols&) = delete;
  LocalSymbols& operator=(const LocalSymbols&) = delete;

  /// Address of a function of this name, or null if there is none or there are several.
  [[nodiscard]] void* find(std::string_view function) const noexcept;

 private:
  void read_sections() noexcept;
  [[nodiscard]] const std::byte* at(std::size_t offset, std::size_t bytes) const noexcept;

  const std::byte* file_ = nullptr;
  std::size_t file_bytes_ = 0;
  std::size_t base_ = 0;  ///< where the library is loaded
  const std::byte* symbols_ = nullptr;
  std::size_t symbol_count_ = 0;
  const char* names_ = nullptr;
  std::size_t names_bytes_ = 0;
};

}  // namespace tutti::profiling
