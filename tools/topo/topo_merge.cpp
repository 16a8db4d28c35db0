#include "topo/topo_merge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

/// Identity of a device on its host, the same for every rank. `twin`: number of devices with the same address before it
/// in the map. A CPU device is identified by the CPUs that the rank is bound to.
std::string identity_of(const MapDevice& device, int twin) {
  if (!device.uuid.empty()) return device.uuid;
  if (!device.address.empty()) return concat(device.address, '#', twin);
  return concat(device.names.front(), '@', device.cpus);
}

/// Identity of the card, the same for all its sub-devices.
std::string card_of(const MapDevice& device) {
  if (!device.address.empty()) return device.address;
  const std::string& name = device.names.front();
  return concat(name.substr(0, name.find('.')), '@', device.cpus);
}

class Merger {
 public:
  Merger(std::span<const HostMap> maps, const HostTree& tree) : maps_(maps), tree_(tree) {}

  HostMap run() {
    HostMap result = maps_.front();
    result.ranks.clear();
    for (const HostMap& map : maps_) {
      add_devices(map);
      for (const MapModule& module : map.modules) add_module(result.modules, module);
    }
    put_in_order();
    set_labels();
    result.devices.clear();
    for (const Entry& entry : entries_) result.devices.push_back(entry.device);
    result.links = make_links(result.nics);
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      for (const MapRank& rank : maps_[i].ranks) result.ranks.push_back(relabelled(rank, identities_[i]));
    }
    for (MapRank& rank : result.ranks) {
      rank.sharers = static_cast<int>(std::ranges::count(result.ranks, rank.label, &MapRank::label));
    }
    add_notes(result.notes);
    return result;
  }

 private:
  using Identities = std::map<std::string, std::string>;  ///< by the label in a rank's map

  struct Entry {
    MapDevice device;
    std::string identity;
    std::string card;
    bool is_part = false;
  };

  void add_devices(const HostMap& map) {
    Identities& identities = identities_.emplace_back();
    std::map<std::string, int> twins;
    for (const MapDevice& device : map.devices) {
      const std::string identity = identity_of(device, device.address.empty() ? 0 : twins[device.address]++);
      identities[device.label] = identity;
      const auto known = std::ranges::find(entries_, identity, &Entry::identity);
      const bool is_part = device.label.find('.') != std::string::npos;
      if (known == entries_.end()) {
        entries_.push_back({device, identity, card_of(device), is_part});
      } else {
        known->is_part = known->is_part || is_part;
        known->device.used_bytes = std::max(known->device.used_bytes, device.used_bytes);
        for (const std::string& name : device.names) add_name(known->device.names, name);
      }
    }
    for (const Nic& nic : map.nics) identities[nic.label] = nic.label;
    for (const MapLink& link : map.links) links_.try_emplace({identities[link.from], identities[link.to]}, link);
  }

  static void add_name(std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }

  /// The module is usable when any rank can use it.
  static void add_module(std::vector<MapModule>& modules, const MapModule& module) {
    const auto known = std::ranges::find(modules, module.name, &MapModule::name);
    if (known == modules.end()) {
      modules.push_back(module);
    } else if (module.usable && !known->usable) {
      *known = module;
    }
  }

  /// Keeps the order of the first rank if it sees all devices; else sorts by card, independent of the order of ranks.
  void put_in_order() {
    if (entries_.size() == maps_.front().devices.size()) return;
    std::ranges::stable_sort(entries_, {}, [](const Entry& entry) {
      return std::tuple(!entry.device.gpu, entry.device.address, entry.device.uuid);
    });
  }

  void set_labels() {
    std::set<std::string> parted;
    for (const Entry& entry : entries_) {
      if (entry.is_part) parted.insert(entry.card);
    }
    std::map<bool, int> next;            // next number, by whether the device is a GPU
    std::map<std::string, int> numbers;  // number, by card
    std::map<std::string, int> parts;    // sub-devices labelled so far, by card
    for (Entry& entry : entries_) {
      int& count = next[entry.device.gpu];
      entry.device.label = entry.device.gpu ? "GPU" : "CPU";
      if (!parted.contains(entry.card)) {
        entry.device.label += std::to_string(count++);
        continue;
      }
      const auto [number, is_new] = numbers.try_emplace(entry.card, count);
      if (is_new) ++count;
      entry.device.label += concat(number->second, '.', parts[entry.card]++);
    }
  }

  std::vector<MapLink> make_links(const std::vector<Nic>& nics) {
    std::vector<MapLink> result;
    for (const Entry& from : entries_) {
      for (const Entry& to : entries_) {
        if (&from != &to) result.push_back(make_link(from, to));
      }
      for (const Nic& nic : nics) {
        result.push_back({from.device.label, nic.label, links_.at({from.identity, nic.label}).path, 0.0});
        result.push_back({nic.label, from.device.label, result.back().path, 0.0});
      }
    }
    for (const Nic& from : nics) {
      for (const Nic& to : nics) {
        if (&from != &to) result.push_back(links_.at({from.label, to.label}));
      }
    }
    return result;
  }

  MapLink make_link(const Entry& from, const Entry& to) {
    MapLink link{from.device.label, to.device.label, "", 0.0};
    if (const auto seen = links_.find({from.identity, to.identity}); seen != links_.end()) {
      link.path = seen->second.path;
      link.gb_per_s = seen->second.gb_per_s;
      return link;
    }
    link.path = path_by_place(from.device, to.device, tree_);
    has_unseen_link_ = has_unseen_link_ || (link.path != "TILE" && link.path != "HOST");
    if (link.path.empty()) link.path = "?";
    return link;
  }

  [[nodiscard]] MapRank relabelled(MapRank rank, const Identities& identities) const {
    if (rank.label.empty()) return rank;
    const auto entry = std::ranges::find(entries_, identities.at(rank.label), &Entry::identity);
    rank.label = entry->device.label;
    return rank;
  }

  void add_notes(std::vector<std::string>& notes) const {
    std::set<std::string> names;
    bool is_ambiguous = false;
    for (const Entry& entry : entries_) {
      for (const std::string& name : entry.device.names) is_ambiguous = !names.insert(name).second || is_ambiguous;
    }
    if (is_ambiguous) {
      notes.emplace_back(
          "The ranks see different devices: a name for TUTTI_DEVICE is valid only in the ranks that see that device.");
    }
    if (has_unseen_link_) {
      notes.emplace_back(
          "For some pairs of devices no rank sees both: the map shows their path over PCI, but cannot tell whether "
          "links of the vendor connect them.");
    }
  }

  std::span<const HostMap> maps_;
  const HostTree& tree_;
  std::vector<Entry> entries_;
  std::vector<Identities> identities_;                            ///< one element per map
  std::map<std::pair<std::string, std::string>, MapLink> links_;  ///< by identity
  bool has_unseen_link_ = false;
};

}  // namespace

HostMap merge_maps(std::span<const HostMap> maps, const HostTree& tree) { return Merger(maps, tree).run(); }

}  // namespace tutti::tools
