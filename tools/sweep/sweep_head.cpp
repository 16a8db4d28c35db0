#include "sweep/sweep_head.hpp"

#include <unistd.h>

#include <array>
#include <ctime>
#include <utility>

#include "text/text.hpp"
#include "tutti/config.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::tools {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

std::string own_hostname() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

SweepHead make_head(const MachineInfo& machine, std::vector<std::string> settings) {
  const Config config;
  for (const Setting& setting : Config::settings()) {
    if (config.source(setting.name) == "environment")
      settings.push_back(concat(setting.name, '=', config.shown(setting.name)));
  }
  return {.tutti = std::string(version()),
          .begun = utc_now(),
          .hostname = own_hostname(),
          .cpu = machine.cpu,
          .cores = machine.cores,
          .kernels = std::string(spi::kernel_target()),
          .memory_bytes = machine.memory_bytes,
          .settings = std::move(settings)};
}

}  // namespace tutti::tools
