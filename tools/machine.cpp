#include "machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "launch/launch_target.hpp"
#include "text/text.hpp"
#include "tutti/config.hpp"

namespace tutti::tools {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const std::string content = read_file(path);
  return parse_bytes(trim(content));  // nothing for "max" and for an absent file
}

// Number of members of a list: 5 for "0-3,8".
int count_list(std::string_view list) {
  int count = 0;
  for (const std::string& range : split(list, ',')) {
    const std::size_t dash = range.find('-');
    const int first = std::atoi(range.c_str());
    count += dash == std::string::npos ? 1 : std::atoi(range.c_str() + dash + 1) - first + 1;
  }
  return count;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trim(std::string_view(line).substr(0, colon));
    if (key == "model name" || key == "Model") return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return "unknown CPU";
}

std::vector<CacheInfo> read_caches() {
  std::vector<CacheInfo> caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = concat("/sys/devices/system/cpu/cpu0/cache/index", index, '/');
    const auto bytes = read_number(folder + "size");
    if (!bytes) break;
    const std::string type = read_file(folder + "type");
    if (type.starts_with("Instruction")) continue;
    const std::string level(trim(read_file(folder + "level")));
    CacheInfo cache{.name = "L" + level + (type.starts_with("Data") ? "d" : ""), .bytes = *bytes};
    const std::string sharers = read_file(folder + "shared_cpu_list");
    cache.shared_by = std::max(count_list(trim(sharers)), 1);
    caches.push_back(cache);
  }
  return caches;
}

// Memory left under the limits of all control groups above this process, for both versions of the interface.
std::uint64_t control_group_room() {
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  const auto limit_by = [&](const std::string& folder, const char* limit_name, const char* used_name) {
    const auto limit = read_number(folder + limit_name);
    const auto used = read_number(folder + used_name);
    if (limit && used) room = std::min(room, *limit - std::min(*limit, *used));
  };
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool unified = parts[1].empty();
    if (!unified && parts[1].find("memory") == std::string::npos) continue;
    for (std::filesystem::path path = parts[2];; path = path.parent_path()) {
      const std::string below = path == "/" ? "" : path.string();
      if (unified)
        limit_by("/sys/fs/cgroup" + below + "/", "memory.max", "memory.current");
      else
        limit_by("/sys/fs/cgroup/memory" + below + "/", "memory.limit_in_bytes", "memory.usage_in_bytes");
      if (path == path.parent_path()) break;
    }
  }
  return room;
}

}  // namespace

std::uint64_t meminfo_value(const std::string& meminfo, const std::string& name) {
  std::istringstream lines(meminfo);
  for (std::string key; lines >> key;) {
    std::uint64_t kibibytes = 0;
    if (key == name + ":" && lines >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

MachineInfo this_machine() {
  MachineInfo machine;
  machine.cpu = cpu_model();
  machine.cores = this_host().cores;
  machine.cores_online = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  const std::string nodes = read_file("/sys/devices/system/node/online");
  machine.numa_nodes = std::max(count_list(trim(nodes)), 1);
  machine.caches = read_caches();
  const std::string meminfo = read_file("/proc/meminfo");
  machine.memory_bytes = meminfo_value(meminfo, "MemTotal");
  machine.available_bytes = std::min(meminfo_value(meminfo, "MemAvailable"), control_group_room());
  return machine;
}

}  // namespace tutti::tools
