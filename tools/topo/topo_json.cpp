#include "topo/topo_json.hpp"

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "tutti/info.hpp"

namespace tutti::tools {

// Field names for both directions. The pointer only selects the overload; it is not read.
constexpr auto fields_of(const NumaNode* /*type*/) {
  return std::tuple(std::pair("node", &NumaNode::node), std::pair("cpus", &NumaNode::cpus),
                    std::pair("memory_bytes", &NumaNode::memory_bytes));
}

constexpr auto fields_of(const Nic* /*type*/) {
  return std::tuple(std::pair("label", &Nic::label), std::pair("name", &Nic::name), std::pair("address", &Nic::address),
                    std::pair("cpus", &Nic::cpus), std::pair("numa_nodes", &Nic::numa_nodes));
}

constexpr auto fields_of(const MapModule* /*type*/) {
  return std::tuple(std::pair("name", &MapModule::name), std::pair("usable", &MapModule::usable),
                    std::pair("version", &MapModule::version), std::pair("reason", &MapModule::reason));
}

constexpr auto fields_of(const MapDevice* /*type*/) {
  return std::tuple(
      std::pair("label", &MapDevice::label), std::pair("devices", &MapDevice::names),
      std::pair("name", &MapDevice::description), std::pair("vendor", &MapDevice::vendor),
      std::pair("driver", &MapDevice::driver), std::pair("address", &MapDevice::address),
      std::pair("uuid", &MapDevice::uuid), std::pair("cpus", &MapDevice::cpus),
      std::pair("numa_nodes", &MapDevice::numa_nodes), std::pair("memory_bytes", &MapDevice::memory_bytes),
      std::pair("used_bytes", &MapDevice::used_bytes), std::pair("compute_units", &MapDevice::compute_units),
      std::pair("gpu", &MapDevice::gpu), std::pair("fake", &MapDevice::fake));
}

constexpr auto fields_of(const MapLink* /*type*/) {
  return std::tuple(std::pair("from", &MapLink::from), std::pair("to", &MapLink::to), std::pair("path", &MapLink::path),
                    std::pair("gb_per_s", &MapLink::gb_per_s));
}

constexpr auto fields_of(const MapRank* /*type*/) {
  return std::tuple(std::pair("rank", &MapRank::rank), std::pair("local_rank", &MapRank::local_rank),
                    std::pair("host", &MapRank::host), std::pair("device", &MapRank::device),
                    std::pair("label", &MapRank::label), std::pair("ranks_on_device", &MapRank::sharers),
                    std::pair("cpus", &MapRank::cpus), std::pair("reason", &MapRank::reason));
}

constexpr auto fields_of(const HostMap* /*type*/) {
  return std::tuple(std::pair("host", &HostMap::host), std::pair("cpu", &HostMap::cpu),
                    std::pair("numa_nodes", &HostMap::numa_nodes), std::pair("device_modules", &HostMap::modules),
                    std::pair("devices", &HostMap::devices), std::pair("nics", &HostMap::nics),
                    std::pair("links", &HostMap::links), std::pair("ranks", &HostMap::ranks),
                    std::pair("notes", &HostMap::notes));
}

template <typename T>
concept Listed = requires(const T* type) {
  fields_of(type);
};

// The JSON library finds these by argument-dependent lookup.
template <Listed T>
void to_json(nlohmann::ordered_json& json, const T& value) {
  json = nlohmann::ordered_json::object();
  std::apply([&](const auto&... field) { ((json[field.first] = value.*field.second), ...); }, fields_of(&value));
}

template <Listed T>
void from_json(const nlohmann::ordered_json& json, T& value) {
  std::apply([&](const auto&... field) { (json.at(field.first).get_to(value.*field.second), ...); }, fields_of(&value));
}

namespace {

using Json = nlohmann::ordered_json;

/// Names of devices and hosts need not be UTF-8.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <typename T>
T decode(const std::string& text) {
  return Json::parse(text).get<T>();
}

}  // namespace

Json topo_document(std::span<const HostMap> hosts, bool is_predicted) {
  Json json = {{"version", version()}, {"predicted", is_predicted}, {"hosts", Json::array()}};
  for (const HostMap& host : hosts) json["hosts"].push_back(host);
  json["legend"] = Json::object();
  for (const LegendEntry& entry : legend(hosts)) json["legend"][std::string(entry.sign)] = entry.meaning;
  return json;
}

std::string encode(const HostMap& map) { return text_of(map); }
HostMap decode_map(const std::string& text) { return decode<HostMap>(text); }

}  // namespace tutti::tools
