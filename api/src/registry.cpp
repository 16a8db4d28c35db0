#include "registry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "builtin_backends.hpp"
#include "settings.hpp"

namespace tutti {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libtutti_backend_";
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

/// Name and variant from libtutti_backend_NAME[.VARIANT].so; an empty name when it is another file.
RegisteredModule from_file_name(const fs::path& path) {
  RegisteredModule result;
  result.location = path.string();
  std::string stem = path.filename().string();
  if (!stem.starts_with(kPrefix) || !stem.ends_with(kSuffix)) return result;
  stem = stem.substr(kPrefix.size(), stem.size() - kPrefix.size() - kSuffix.size());
  const std::size_t dot = stem.find('.');
  result.name = stem.substr(0, dot);
  if (dot != std::string::npos) result.variant = stem.substr(dot + 1);
  return result;
}

void open_module(RegisteredModule& entry) {
  void* handle = dlopen(entry.location.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* text = dlerror();
    entry.rejected = std::string("cannot be loaded: ") + (text != nullptr ? text : "unknown reason");
    return;
  }
  auto* symbol = dlsym(handle, spi::kBackendModuleSymbol);
  if (symbol == nullptr) {
    entry.rejected = std::string("is no tutti module: it does not export ") + spi::kBackendModuleSymbol;
    return;
  }
  const spi::BackendModule* module = reinterpret_cast<spi::BackendModuleEntry>(symbol)();
  if (module == nullptr || module->abi != spi::kModuleAbi) {
    entry.rejected = "was built for module interface " + std::to_string(module != nullptr ? module->abi : 0) +
                     ", this library has " + std::to_string(spi::kModuleAbi);
    return;
  }
  if (module->probe == nullptr || module->create == nullptr) {
    entry.rejected = "is incomplete: it has no probe or no create function";
    return;
  }
  entry.module = module;
  entry.name = module->name;
  entry.variant = module->variant;
}

}  // namespace

Registry& Registry::instance() {
  // Never destroyed: modules stay loaded, and static communicators may outlive other statics.
  static auto* registry = new Registry;
  return *registry;
}

std::vector<const RegisteredModule*> Registry::modules(const Config& config) {
  const std::scoped_lock lock(mutex_);
  if (modules_.empty()) {
    for (spi::BackendModuleEntry entry : builtin_backends()) {
      const spi::BackendModule* module = entry();
      add({.module = module,
           .name = std::string(module->name),
           .variant = std::string(module->variant),
           .location = "built in",
           .rejected = {}});
    }
  }
  std::string path = config.text("TUTTI_MODULE_PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) load_directory(path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (const std::string directory = default_directory(); !directory.empty()) load_directory(directory);

  std::vector<const RegisteredModule*> result;
  for (const auto& module : modules_) result.push_back(module.get());
  return result;
}

void Registry::load_directory(const std::string& directory) {
  if (std::ranges::find(loaded_directories_, directory) != loaded_directories_.end()) return;
  loaded_directories_.push_back(directory);
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(directory, error)) files.push_back(file.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    RegisteredModule entry = from_file_name(file);
    if (entry.name.empty() || knows(entry.name, entry.variant)) continue;
    open_module(entry);
    add(std::move(entry));
  }
}

void Registry::add(RegisteredModule module) {
  if (module.module != nullptr) register_settings(module.module->settings);
  modules_.push_back(std::make_unique<RegisteredModule>(std::move(module)));
}

bool Registry::knows(std::string_view name, std::string_view variant) const {
  return std::ranges::any_of(modules_,
                             [&](const auto& known) { return known->name == name && known->variant == variant; });
}

}  // namespace tutti
