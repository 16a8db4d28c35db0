#include "topo/host_tree.hpp"

#include <sched.h>

#include "text/text.hpp"

namespace tutti::tools {

std::string current_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::string list;
  const auto is_in = [&](int cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &allowed); };
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!is_in(first)) continue;
    int last = first;
    while (is_in(last + 1)) ++last;
    list += concat(list.empty() ? "" : ",", first, last > first ? concat('-', last) : "");
    first = last;
  }
  return list;
}

}  // namespace tutti::tools
