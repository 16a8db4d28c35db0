#include "select/registry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "settings/settings.hpp"
#include "tutti/spi/folder.hpp"

namespace tutti {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".so";

/// The directory of modules beside this library.
std::string default_directory() {
  Dl_info info{};
  static const char anchor = 0;
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  return error ? std::string() : (library.parent_path() / TUTTI_MODULE_DIR).string();
}

/// Name and variant from PREFIX NAME[.VARIANT].so; an empty name when it is another file.
template <typename Module>
Registered<Module> from_file_name(const fs::path& path) {
  constexpr std::string_view kPrefix = ModuleKind<Module>::prefix;
  Registered<Module> result;
  result.location = path.string();
  std::string stem = path.filename().string();
  if (!stem.starts_with(kPrefix) || !stem.ends_with(kSuffix)) return result;
  stem = stem.substr(kPrefix.size(), stem.size() - kPrefix.size() - kSuffix.size());
  const std::size_t dot = stem.find('.');
  result.name = stem.substr(0, dot);
  if (dot != std::string::npos) result.variant = stem.substr(dot + 1);
  return result;
}

}  // namespace

template <typename Module>
void open_module(Registered<Module>& entry) {
  using Kind = ModuleKind<Module>;
  void* handle = dlopen(entry.location.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    entry.rejected = std::string("cannot be loaded: ") + (text != nullptr ? text : "unknown reason");
    return;
  }
  auto* symbol = dlsym(handle, Kind::symbol);
  if (symbol == nullptr) {
    entry.rejected = std::string("is no tutti module: it does not export ") + Kind::symbol;
    return;
  }
  const Module* module = reinterpret_cast<const Module* (*)()>(symbol)();
  if (module == nullptr || module->abi != spi::kModuleAbi) {
    entry.rejected = "was built for module interface " + std::to_string(module != nullptr ? module->abi : 0) +
                     ", this library has " + std::to_string(spi::kModuleAbi);
    return;
  }
  if (!Kind::is_complete(*module)) {
    entry.rejected = "is incomplete: it has no " + std::string(Kind::functions) + " function";
    return;
  }
  entry.module = module;
  entry.name = module->name;
  if constexpr (requires { module->variant; }) entry.variant = module->variant;
}

std::vector<std::string> module_directories(const Config& config) {
  std::vector<std::string> directories;
  const std::string& path = config.text("TUTTI_MODULE_PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) directories.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::string beside = default_directory(); !beside.empty()) directories.push_back(std::move(beside));
  return directories;
}

template <typename Module>
ModuleRegistry<Module>& ModuleRegistry<Module>::instance() {
  // Never destroyed: modules stay loaded, and static communicators may outlive other statics.
  static auto* registry = new ModuleRegistry;
  return *registry;
}

template <typename Module>
std::vector<const Registered<Module>*> ModuleRegistry<Module>::modules(const Config& config) {
  const std::scoped_lock lock(mutex_);
  if (modules_.empty()) {
    for (const auto entry : ModuleKind<Module>::builtin()) {
      const Module* module = entry();
      add({.module = module,
           .name = std::string(module->name),
           .variant = std::string(module->variant),
           .location = "built in",
           .rejected = {}});
    }
  }
  for (const std::string& directory : module_directories(config)) load_directory(directory);

  std::vector<const Registered<Module>*> result;
  for (const auto& module : modules_) result.push_back(module.get());
  return result;
}

template <typename Module>
void ModuleRegistry<Module>::load_directory(const std::string& directory) {
  if (std::ranges::find(loaded_directories_, directory) != loaded_directories_.end()) return;
  for (const std::string& file : spi::names_in(directory)) {
    Registered<Module> entry = from_file_name<Module>(fs::path(directory) / file);
    if (entry.name.empty() || knows(entry.name, entry.variant)) continue;
    open_module(entry);
    add(std::move(entry));
  }
  // Last: after an exception above, the next call looks at the folder again and skips the modules that are known.
  loaded_directories_.push_back(directory);
}

template <typename Module>
void ModuleRegistry<Module>::add(Registered<Module> module) {
  if (module.module != nullptr) register_settings(module.module->settings);
  modules_.push_back(std::make_unique<Registered<Module>>(std::move(module)));
}

template <typename Module>
bool ModuleRegistry<Module>::knows(std::string_view name, std::string_view variant) const {
  return std::ranges::any_of(modules_,
                             [&](const auto& known) { return known->name == name && known->variant == variant; });
}

template void open_module(Registered<spi::BackendModule>& entry);
template void open_module(Registered<spi::DeviceModule>& entry);
template void open_module(Registered<spi::ObserverModule>& entry);
template class ModuleRegistry<spi::BackendModule>;
template class ModuleRegistry<spi::DeviceModule>;

}  // namespace tutti
