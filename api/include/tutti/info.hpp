#pragma once

#include <string>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// One backend as `tutti info` shows it.
struct BackendInfo {
  std::string name;
  std::string variant;  ///< empty where the backend has only one
  std::string description;
  std::string location;  ///< "built in" or the module's file
  bool usable = false;
  std::string reason;  ///< why not, or what was found
  std::string version;
  spi::Capabilities capabilities;
};

/// All backends on this machine, the ones that cannot be used here with the reason. Loads modules, starts no library.
[[nodiscard]] TUTTI_API std::vector<BackendInfo> backends(const Config& config = {});

/// Whether such an operation can be built from what `capabilities` has.
[[nodiscard]] TUTTI_API bool can_emulate(OpKind kind, const spi::Capabilities& capabilities) noexcept;

/// The library's version, "MAJOR.MINOR.PATCH".
[[nodiscard]] TUTTI_API std::string_view version() noexcept;

}  // namespace tutti
