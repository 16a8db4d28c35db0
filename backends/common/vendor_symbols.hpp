#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti::common {

/// Finds a function of a library by its name; null when it is not there.
using SymbolLookup = std::function<void*(const char*)>;

/// Fills a backend's table with the functions of the library that was found at run time.
class VendorSymbols {
 public:
  /// `library` is how the observer is told of it; both names have static storage.
  VendorSymbols(std::string_view backend, std::string_view library, const SymbolLookup& lookup)
      : backend_(backend), library_(library), lookup_(lookup) {}

  /// A function that the observer is told of. Throws Error{backend_unavailable} when the library does not have it, as
  /// does the other.
  template <typename Function>
  void find(spi::VendorFunction<Function>& member, const char* name) const {
    member = spi::VendorFunction<Function>(library_, name);
    member.set(reinterpret_cast<Function>(require(name)));
  }
  /// One that is not worth telling: it does nothing but give words.
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
