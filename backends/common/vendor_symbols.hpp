#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti::common {

/// Address of a library's function by its name; null when the library lacks it.
using SymbolLookup = std::function<void*(const char*)>;

/// Fills a backend's table with the functions of a library that was opened at run time.
class VendorSymbols {
 public:
  /// `library` is its name in reports to the observer; both names have static storage.
  VendorSymbols(std::string_view backend, std::string_view library, const SymbolLookup& lookup)
      : backend_(backend), library_(library), lookup_(lookup) {}

  /// Finds a function whose calls are reported to the observer. Throws Error{backend_unavailable} when the library
  /// lacks it.
  template <typename Function>
  void find(spi::VendorFunction<Function>& member, const char* name) const {
    member = spi::VendorFunction<Function>(library_, name);
    member.set(reinterpret_cast<Function>(require(name)));
  }
  /// Finds a function whose calls are not reported, because it only returns a text. Throws like the one above.
  template <typename Result, typename... Arguments>
  void find(Result (*&member)(Arguments...), const char* name) const {
    member = reinterpret_cast<Result (*)(Arguments...)>(require(name));
  }

 private:
  [[nodiscard]] void* require(const char* name) const {
    void* const symbol = lookup_(name);
    if (symbol != nullptr) return symbol;
    throw Error(ErrorCode::backend_unavailable, "the library lacks " + std::string(name), std::string(backend_));
  }

  std::string_view backend_;
  std::string_view library_;
  const SymbolLookup& lookup_;
};

}  // namespace tutti::common
