#include "select/observer_modules.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "select/registry.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/observer_module.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti {

namespace {

using RegisteredObserver = Registered<spi::ObserverModule>;

/// Names in TUTTI_OBSERVERS, each once.
std::vector<std::string> wanted_observers(const Config& config) {
  std::vector<std::string> names;
  const std::string& list = config.text("TUTTI_OBSERVERS");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    // Part of a file's name: it must not lead to another folder.
    const bool is_name = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    if (!is_name) {
      throw Error(ErrorCode::config, "TUTTI_OBSERVERS contains " + spi::printable(name) +
                                         ", which is no name of a module; names consist of letters, digits, _ and -, "
                                         "and are separated by commas");
    }
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

/// Looks a module up beside the other modules and opens it.
RegisteredObserver open_observer(const std::string& name, const Config& config) {
  RegisteredObserver entry;
  entry.name = name;
  const std::string file = std::string(ModuleKind<spi::ObserverModule>::prefix) + name + ".so";
  for (const std::string& directory : module_directories(config)) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::path(directory) / file;
    if (!std::filesystem::exists(path, error)) continue;
    entry.location = path.string();
    open_module(entry);
    return entry;
  }
  entry.rejected = "is absent: no folder of modules contains " + file;
  return entry;
}

void start(RegisteredObserver& entry, const Config& config) noexcept {
  try {
    entry.module->start(config);
    // Registered by the library, which stays loaded; the module does too. A failure costs the module's last records.
    if (entry.module->stop != nullptr) (void)std::atexit(entry.module->stop);
  } catch (const std::exception& error) {
    entry.rejected = error.what();
    entry.module = nullptr;
  }
}

/// Observer modules of this process. Never freed, as the modules are never closed.
struct StartedObservers {
  std::mutex mutex;
  bool is_started = false;
  std::vector<RegisteredObserver> modules;
};

StartedObservers& started_observers() {
  static auto* const started = new StartedObservers;
  return *started;
}

}  // namespace

void start_observer_modules(const Config& config) {
  StartedObservers& started = started_observers();
  const std::scoped_lock lock(started.mutex);
  if (started.is_started) return;
  const std::vector<std::string> names = wanted_observers(config);
  started.is_started = true;
  for (const std::string& name : names) {
    // A profiling session that began before may have started it.
    if (std::ranges::find(started.modules, name, &RegisteredObserver::name) != started.modules.end()) continue;
    started.modules.push_back(open_observer(name, config));
    if (started.modules.back().module != nullptr) start(started.modules.back(), config);
  }
}

bool start_observer_module(const std::string& name) {
  StartedObservers& started = started_observers();
  const std::scoped_lock lock(started.mutex);
  const auto known = std::ranges::find(started.modules, name, &RegisteredObserver::name);
  if (known != started.modules.end()) return known->module != nullptr;
  const Config config;
  started.modules.push_back(open_observer(name, config));
  RegisteredObserver& module = started.modules.back();
  if (module.module != nullptr) start(module, config);
  return module.module != nullptr;
}

std::vector<ObserverInfo> observer_modules(const Config& config) {
  StartedObservers& started = started_observers();
  const std::scoped_lock lock(started.mutex);
  std::vector<ObserverInfo> result;
  for (const std::string& name : wanted_observers(config)) {
    const auto known = std::ranges::find(started.modules, name, &RegisteredObserver::name);
    const RegisteredObserver entry = known != started.modules.end() ? *known : open_observer(name, config);
    result.push_back({.name = name,
                      .description = entry.module != nullptr ? std::string(entry.module->description) : "",
                      .location = entry.location,
                      .usable = entry.module != nullptr,
                      .reason = entry.rejected});
  }
  return result;
}

}  // namespace tutti

extern "C" TUTTI_API int tutti_start_observer_module(const char* name) {
  try {
    return tutti::start_observer_module(name) ? 1 : 0;
  } catch (const std::exception&) {
    return 0;  // a setting of tutti is wrong, which the first communicator reports
  }
}
