#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "machine.hpp"
#include "text/json_text.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "topo/host_tree.hpp"
#include "topo/topo_job.hpp"
#include "topo/topo_json.hpp"
#include "topo/topo_map.hpp"
#include "topo/topo_text.hpp"
#include "tutti/communicator.hpp"
#include "tutti/info/device_info.hpp"
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

/// Default number of ranks: one per device that ranks are placed on; on the host, one per core.
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

/// Assumes that the ranks inherit the CPUs of this process.
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
  // Map the devices before world(): a backend's library may start a device runtime in a way that hides devices.
  const std::unique_ptr<HostTree> tree = this_host_tree();
  HostMap here = map_of_this_host(*tree, config);
  const Communicator comm = world({.config = config, .name = "topo"});
  if (comm.size() == 1) {
    predict_ranks(here, options.ranks > 0 ? options.ranks : natural_ranks(config), config);
    print({here}, true, options);
    return 0;
  }
  if (options.ranks > 0)
    throw UsageError(
        concat("-n predicts ranks, but this is rank ", comm.rank(), " of a job of ", comm.size(), "; remove -n"));
  const std::vector<HostMap> maps = gather_maps(comm, here, *tree);
  if (comm.rank() == 0) print(maps, false, options);
  return 0;
}

}  // namespace

void add_topo_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti,
      {.name = "topo",
       .summary = "Show devices, the links between them, and the device of each rank.",
       .usage = "tutti topo [options]",
       .description =
           "Shows the NUMA nodes, devices, sub-devices and network adapters of this host, the path between each two of "
           "them, and the device and CPUs that each rank would get, with the reason. Started as the ranks of a job, it "
           "shows the actual ranks on all hosts of the job.",
       .footer = "Examples:\n"
                 "  tutti topo                           predict one rank per device of this host\n"
                 "  tutti topo -n 24 --device sycl       predict 24 ranks on SYCL devices\n"
                 "  tutti run -n 4 -- tutti topo         show the ranks of a real job\n"
                 "  tutti topo --json | jq '.hosts[0].ranks[] | [.rank, .device]'\n"});
  const auto options = std::make_shared<TopoOptions>();
  add_number(command, "-n,--ranks", options->ranks, 1, 100000,
             "Predict N ranks on this host. Default: one per device; one per core if ranks are placed on the host.");
  add_value(command, "--device", "DEVICE",
            "Place the ranks on a device (sycl:0.1), a device module (sycl), a list (host,sycl:0), host or auto. "
            "Default: TUTTI_DEVICE.",
            [options](const std::string& text) { options->device = text; });
  command.add_flag("--json", options->as_json, "Write JSON instead of text.");
  command.callback([&invocation, options] { invocation.exit_code = show_topo(*options); });
}

}  // namespace tutti::tools
