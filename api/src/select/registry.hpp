#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "select/builtin_backends.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/device_module.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/spi/observer_module.hpp"

namespace tutti {

/// A module of this process, or a file that was meant to be one.
template <typename Module>
struct Registered {
  const Module* module = nullptr;  ///< null when it could not be used
  std::string name;                ///< from the module, or from the file's name
  std::string variant;
  std::string location;  ///< "built in" or the file
  std::string rejected;  ///< why it could not be used
};

/// Names and functions of a kind of module.
template <typename Module>
struct ModuleKind;

template <>
struct ModuleKind<spi::BackendModule> {
  static constexpr std::string_view prefix = "libtutti_backend_";
  static constexpr const char* symbol = spi::kBackendModuleSymbol;
  static constexpr std::string_view functions = "probe or no create";
  static bool is_complete(const spi::BackendModule& module) noexcept {
    return module.probe != nullptr && module.create != nullptr;
  }
  static std::span<const spi::BackendModuleEntry> builtin() noexcept { return builtin_backends(); }
};

template <>
struct ModuleKind<spi::DeviceModule> {
  static constexpr std::string_view prefix = "libtutti_device_";
  static constexpr const char* symbol = spi::kDeviceModuleSymbol;
  static constexpr std::string_view functions = "probe or no open";
  static bool is_complete(const spi::DeviceModule& module) noexcept {
    return module.probe != nullptr && module.open != nullptr;
  }
  static std::span<const spi::DeviceModuleEntry> builtin() noexcept { return {}; }
};

template <>
struct ModuleKind<spi::ObserverModule> {
  static constexpr std::string_view prefix = "libtutti_observer_";
  static constexpr const char* symbol = spi::kObserverModuleSymbol;
  static constexpr std::string_view functions = "start";
  static bool is_complete(const spi::ObserverModule& module) noexcept { return module.start != nullptr; }
};

/// Folders of modules in the order of search: those of TUTTI_MODULE_PATH, then the one beside the library.
[[nodiscard]] std::vector<std::string> module_directories(const Config& config);

/// Opens the file of an entry, with local symbol scope and for good, and checks that it is a module of this kind and of
/// this interface; sets `module` or `rejected`.
template <typename Module>
void open_module(Registered<Module>& entry);

/// Asks a module whether it can be used on this machine; an exception becomes the reason why not.
template <typename Module, typename Context>
[[nodiscard]] auto probe_module(const Module& module, const Context& context) {
  try {
    return module.probe(context);
  } catch (const std::exception& error) {
    decltype(module.probe(context)) failed;
    failed.reason = error.what();
    return failed;
  }
}

/// Knows all modules of a kind. Files are opened on first use, with local symbol scope, and never closed.
template <typename Module>
class ModuleRegistry {
 public:
  /// The registry of the process.
  static ModuleRegistry& instance();

  /// All modules: built-in ones first, then those of the directories of TUTTI_MODULE_PATH, then those beside the
  /// library. A name and variant seen earlier hides later ones. Thread-safe; the references stay valid, and later calls
  /// only append.
  [[nodiscard]] std::vector<const Registered<Module>*> modules(const Config& config);

 private:
  void load_directory(const std::string& directory);
  void add(Registered<Module> module);
  [[nodiscard]] bool knows(std::string_view name, std::string_view variant) const;

  std::mutex mutex_;
  std::vector<std::string> loaded_directories_;
  std::vector<std::unique_ptr<Registered<Module>>> modules_;
};

extern template void open_module(Registered<spi::BackendModule>& entry);
extern template void open_module(Registered<spi::DeviceModule>& entry);
extern template void open_module(Registered<spi::ObserverModule>& entry);
extern template class ModuleRegistry<spi::BackendModule>;
extern template class ModuleRegistry<spi::DeviceModule>;

using RegisteredModule = Registered<spi::BackendModule>;
using Registry = ModuleRegistry<spi::BackendModule>;
using DeviceRegistry = ModuleRegistry<spi::DeviceModule>;

}  // namespace tutti
