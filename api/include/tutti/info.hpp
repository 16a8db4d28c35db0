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
  std::string variant;  ///< empty if the backend has only one
  std::string description;
  std::string location;  ///< "built in" or the module's file
  bool usable = false;
  std::string reason;  ///< why it is not usable, or what was found
  std::string version;
  spi::Capabilities capabilities;
  const spi::BackendModule* module = nullptr;  ///< null when the file could not be used as a module
};

/// All backends on this machine; unusable backends have the reason. Loads modules, but starts no backend library.
[[nodiscard]] TUTTI_API std::vector<BackendInfo> backends(const Config& config = {});

/// The same list without a look at the libraries: `usable`, `version` and `capabilities` are not set.
[[nodiscard]] TUTTI_API std::vector<BackendInfo> unprobed_backends(const Config& config = {});

/// Probes the module and stores the answer; an entry without a module keeps its reason.
TUTTI_API void probe(BackendInfo& backend, const Config& config = {});

/// An observer module as `tutti info` shows it.
struct ObserverInfo {
  std::string name;
  std::string description;
  std::string location;  ///< the module's file; empty if there is none
  bool usable = false;
  std::string reason;  ///< why it is not usable
};

/// The modules that TUTTI_OBSERVERS names. Opens them, but starts none.
[[nodiscard]] TUTTI_API std::vector<ObserverInfo> observer_modules(const Config& config = {});

/// Whether an operation can be emulated with the operations in `capabilities`.
[[nodiscard]] TUTTI_API bool can_emulate(OpKind kind, const spi::Capabilities& capabilities) noexcept;

/// The library's version, "MAJOR.MINOR.PATCH".
[[nodiscard]] TUTTI_API std::string_view version() noexcept;

}  // namespace tutti
