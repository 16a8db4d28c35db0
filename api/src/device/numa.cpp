#include <sched.h>

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tutti/placement.hpp"
#include "tutti/spi/folder.hpp"

namespace tutti {

namespace {

/// Parses a CPU list of the kernel: "0-3,8-11".
cpu_set_t parse_cpu_list(std::string_view text) {
  cpu_set_t set;
  CPU_ZERO(&set);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    int first = 0;
    const auto [end, error] = std::from_chars(range.data(), range.data() + range.size(), first);
    int last = first;
    if (error == std::errc{} && end != range.data() + range.size() && *end == '-') {
      std::from_chars(end + 1, range.data() + range.size(), last);
    }
    if (error == std::errc{}) {
      for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return set;
}

}  // namespace

int current_numa_node() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  const std::string folder = "/sys/devices/system/node/";
  for (const std::string& name : spi::names_in(folder)) {
    int node = -1;
    if (!name.starts_with("node")) continue;
    const auto [end, failed] = std::from_chars(name.data() + 4, name.data() + name.size(), node);
    if (failed != std::errc{} || end != name.data() + name.size()) continue;
    std::string list;
    std::ifstream(folder + name + "/cpulist") >> list;
    const cpu_set_t cpus = parse_cpu_list(list);
    cpu_set_t common;
    CPU_AND(&common, &cpus, &allowed);
    if (CPU_EQUAL(&common, &allowed)) return node;
    if (CPU_COUNT(&common) > 0) return -1;
  }
  return -1;
}

}  // namespace tutti
