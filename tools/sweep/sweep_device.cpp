#include "sweep/sweep_device.hpp"

#include <algorithm>

#include "text/text.hpp"
#include "tutti/device.hpp"
#include "tutti/info/device_info.hpp"

namespace tutti::tools {

Config place_on(const std::string& device) {
  Config config;
  config.set("TUTTI_DEVICE", device, "--device");
  if (device == "auto") {
    (void)device_modules(config);
    return config;
  }
  const std::vector<std::string> words = split(device, ',');
  for (const std::string& word : words) (void)Device::parse(word);
  if (words.empty()) (void)Device::parse(device);
  return config;
}

void DeviceTimes::on(const DeviceInterval& record) noexcept {
  // The work of a library is recorded under the name of the operation; tutti's copies and kernels have other names.
  if (parse_op_kind(record.name)) is_span_ = true;
  const std::scoped_lock lock(mutex_);
  intervals_.push_back({record.begin_ns, record.end_ns});
}

std::uint64_t DeviceTimes::calls() const {
  const std::scoped_lock lock(mutex_);
  return intervals_.size();
}

double DeviceTimes::microseconds() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Interval> sorted = intervals_;
  std::ranges::sort(sorted, {}, &Interval::begin_ns);
  std::uint64_t busy = 0;
  std::uint64_t until = 0;
  for (const Interval& one : sorted) {
    const std::uint64_t begin = std::max(one.begin_ns, until);
    if (one.end_ns <= begin) continue;
    busy += one.end_ns - begin;
    until = one.end_ns;
  }
  return static_cast<double>(busy) * 1e-3;
}

void DeviceTimes::on(const Traffic& record) noexcept {
  if (record.from.kind != record.to.kind) was_staged_ = true;
}

}  // namespace tutti::tools
