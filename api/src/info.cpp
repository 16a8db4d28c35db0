#include "tutti/info.hpp"

#include "select/registry.hpp"

namespace tutti {

std::vector<BackendInfo> backends(const Config& config) {
  std::vector<BackendInfo> result;
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    BackendInfo info;
    info.name = entry->name;
    info.variant = entry->variant;
    info.location = entry->location;
    info.reason = entry->rejected;
    info.module = entry->module;
    if (entry->module != nullptr) {
      const spi::Probe probe = probe_module(*entry->module, spi::ProbeContext{config, nullptr});
      info.description = entry->module->description;
      info.usable = probe.usable;
      info.reason = probe.reason;
      info.version = probe.version;
      info.capabilities = probe.capabilities;
    }
    result.push_back(std::move(info));
  }
  return result;
}

std::string_view version() noexcept { return TUTTI_VERSION; }

}  // namespace tutti
