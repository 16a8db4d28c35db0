#include "tutti/info.hpp"

#include "select/registry.hpp"

namespace tutti {

std::vector<BackendInfo> unprobed_backends(const Config& config) {
  std::vector<BackendInfo> result;
  for (const RegisteredModule* entry : Registry::instance().modules(config)) {
    BackendInfo info;
    info.name = entry->name;
    info.variant = entry->variant;
    info.location = entry->location;
    info.reason = entry->rejected;
    info.module = entry->module;
    if (entry->module != nullptr) info.description = entry->module->description;
    result.push_back(std::move(info));
  }
  return result;
}

void probe(BackendInfo& backend, const Config& config) {
  if (backend.module == nullptr) return;
  const spi::Probe answer = probe_module(*backend.module, spi::ProbeContext{config, nullptr});
  backend.usable = answer.usable;
  backend.reason = answer.reason;
  backend.version = answer.version;
  backend.capabilities = answer.capabilities;
}

std::vector<BackendInfo> backends(const Config& config) {
  std::vector<BackendInfo> result = unprobed_backends(config);
  for (BackendInfo& backend : result) probe(backend, config);
  return result;
}

std::string_view version() noexcept { return TUTTI_VERSION; }

}  // namespace tutti
