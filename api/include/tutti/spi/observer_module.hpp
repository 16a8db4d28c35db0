#pragma once

#include <cstdint>
#include <string_view>

#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::spi {

/// Entry of an observer module: an Observer that a program need not know of. One per shared object
/// `libtutti_observer_<name>.so`. The modules that TUTTI_OBSERVERS names are opened and started when the first
/// communicator of a process is made, and never closed.
struct ObserverModule {
  std::uint32_t abi = kModuleAbi;
  std::string_view name;
  std::string_view description;

  /// Adds the observer. Called once per process. If it throws, the message becomes the reason why the module is not
  /// used.
  void (*start)(const Config&) = nullptr;
  /// The process exits: removes the observer. Static communicators that were made first may end later.
  void (*stop)() noexcept = nullptr;
};

/// Symbol that a module exports: `extern "C" const ObserverModule* tutti_observer_module()`.
using ObserverModuleEntry = const ObserverModule* (*)();
inline constexpr const char* kObserverModuleSymbol = "tutti_observer_module";

/// Symbol of the core library, for a library that does not link to it: `extern "C" int
/// tutti_start_observer_module(const char* name)` opens and starts the module of that name now, whatever
/// TUTTI_OBSERVERS says, unless it was started before. Returns 1 if it runs, else 0; `tutti info` shows the reason.
inline constexpr const char* kStartObserverSymbol = "tutti_start_observer_module";

}  // namespace tutti::spi
