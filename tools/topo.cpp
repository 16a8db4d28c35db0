#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "machine.hpp"
#include "text/json_text.hpp"
#include "text/terminal.hpp"
#include "topo/host_tree.hpp"
#include "topo/topo_job.hpp"
#include "topo/topo_json.hpp"
#include "topo/topo_map.hpp"
#include "topo/topo_text.hpp"
#include "tutti/communicator.hpp"
#include "tutti/device_info.hpp"
#include "tutti/placement.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct TopoOptions {
  int ranks = 0;  ///< 0: one per device
  bool as_json = false;
  std::string device;
};

HostMap map_of_this_host(const HostTree& tree, const Config& config) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const int node = current_numa_node();
  return make_map(host.data(), this_machine().cpu, tree, device_modules(config),
                  {current_cpus(), node < 0 ? "" : std::to_string(node)});
}

/// One rank per device that ranks are placed on by itself; on the host, one per core.
int natural_ranks(const Config& config) {
  const std::vector<int> one = {-1};
  const Device first = placements(one, {}, config).front().device;
  if (first.is_host()) return this_machine().cores;
  const std::string module = first.name().substr(0, first.name().find(':'));
  for (const DeviceModuleInfo& info : device_modules(config)) {
    if (info.name == module) return static_cast<int>(placeable(info.devices).size());
  }
  return 1;
}

/// Ranks that are started like this command inherit its CPUs.
void predict_ranks(HostMap& map, int count, const Config& config) {
  const std::vector<int> nodes(static_cast<std::size_t>(count), current_numa_node());
  int rank = 0;
  for (const Placement& placement : placements(nodes, {}, config)) {
    map.ranks.push_back(make_rank(map, rank, rank, placement));
    ++rank;
  }
}

void print(const std::vector<HostMap>& maps, bool is_predicted, const TopoOptions& options) {
  const Terminal terminal(STDOUT_FILENO);
  write_result(options.as_json ? to_text(topo_document(maps, is_predicted))
                               : topo_text(maps, is_predicted, terminal, terminal.columns()));
}

int show_topo(const TopoOptions& options) {
  Config config;
  if (!options.device.empty()) config.set("TUTTI_DEVICE", options.device, "--device");
  // Before the job: a backend's library may bring up a device runtime in a way that hides devices from it.
  const std::unique_ptr<HostTree> tree = this_host_tree();
  HostMap here = map_of_this_host(*tree, config);
  const Communicator comm = world({.config = config, .name = "topo"});
  if (comm.size() == 1) {
    predict_ranks(here, options.ranks > 0 ? options.ranks : natural_ranks(config), config);
    print({here}, true, options);
    return 0;
  }
  if (options.ranks > 0) throw UsageError("-n is for a prediction; this is a rank of a job");
  const std::vector<HostMap> maps = gather_maps(comm, here, *tree);
  if (comm.rank() == 0) print(maps, false, options);
  return 0;
}

}  // namespace

void add_topo_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti,
      {.name = "topo",
       .summary = "Show devices, links between them, and which rank sits where.",
       .usage = "tutti topo [options]",
       .description =
           "Draws the map of this host: NUMA nodes, devices with their parts, network adapters, what lies between each "
           "two of them, and on which device and CPUs each rank would sit and why. Started as the ranks of a job, it "
           "shows the ranks as they are, on all hosts of the job.",
       .footer = "Examples:\n"
                 "  tutti topo                           this host, one rank per device\n"
                 "  tutti topo -n 24 --device sycl       24 ranks on the devices of SYCL\n"
                 "  tutti run -n 4 -- tutti topo         the ranks of a real job\n"
                 "  tutti topo --json | jq '.hosts[0].ranks[] | [.rank, .device]'\n"});
  const auto options = std::make_shared<TopoOptions>();
  add_number(command, "-n,--ranks", options->ranks, 1, 100000,
             "Predict for N ranks on this host; else one per device.");
  add_value(command, "--device", "DEVICE",
            "Where to place ranks, as TUTTI_DEVICE takes it: sycl, sycl:0.1, host, auto.",
            [options](const std::string& text) { options->device = text; });
  command.add_flag("--json", options->as_json, "Write JSON.");
  command.callback([&invocation, options] { invocation.exit_code = show_topo(*options); });
}

}  // namespace tutti::tools
