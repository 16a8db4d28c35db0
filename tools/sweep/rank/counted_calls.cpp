#include "sweep/rank/counted_calls.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "analysis/statistics.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

// More calls of a device than that in one operation are a damaged line.
constexpr double kMostDeviceCalls = 1e15;

bool is_native_engine(std::string_view leaf) noexcept { return leaf == "native" || leaf.ends_with(":native"); }

double microseconds(std::uint64_t nanoseconds) noexcept { return static_cast<double>(nanoseconds) * 1e-3; }

}  // namespace

void CountedCalls::on(const OpIssued& record) noexcept {
  if (record.operation.kind != kind_) return;
  const std::scoped_lock lock(mutex_);
  operations_[record.id] = {.begin_ns = record.time_ns, .is_native = is_native_engine(record.backend)};
  served_by_ = record.backend;
}

void CountedCalls::on(const OpCompleted& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (const auto found = operations_.find(record.id); found != operations_.end()) found->second.end_ns = record.time_ns;
}

void CountedCalls::on(const HostCall& record) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = operations_.find(record.cause);
  if (found == operations_.end()) return;
  ++counts_.host_calls;
  found->second.library_ns += record.end_ns - record.begin_ns;
}

void CountedCalls::on(const Allocation& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!operations_.contains(record.cause)) return;
  ++counts_.alloc_calls;
  counts_.alloc_bytes += record.bytes;
  live_[record.pointer] = record.bytes;
  live_bytes_ += record.bytes;
  counts_.peak_bytes = std::max(counts_.peak_bytes, live_bytes_);
}

void CountedCalls::on(const Free& record) noexcept {
  const std::scoped_lock lock(mutex_);
  // Memory from before the counted calls, or of other operations, is not in the list.
  const auto found = live_.find(record.pointer);
  if (found == live_.end()) return;
  live_bytes_ -= found->second;
  live_.erase(found);
}

void CountedCalls::on(const Traffic& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!operations_.contains(record.cause)) return;
  ++counts_.traffic_calls;
  counts_.traffic_bytes += record.bytes;
}

void CountedCalls::on(const DeviceInterval& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!operations_.contains(record.cause)) return;
  ++counts_.device_calls;
  device_ns_ += record.end_ns - record.begin_ns;
}

CellCounts CountedCalls::counts() const {
  const std::scoped_lock lock(mutex_);
  CellCounts result = counts_;
  result.calls = operations_.size();
  std::uint64_t host_ns = 0;
  for (const auto& [id, operation] : operations_) {
    host_ns += operation.library_ns;
    if (!operation.is_native) continue;
    ++result.host_calls;
    const std::uint64_t duration = std::max(operation.end_ns, operation.begin_ns) - operation.begin_ns;
    host_ns += duration - std::min(duration, operation.library_ns);
  }
  result.host_time_us = microseconds(host_ns);
  result.device_time_us = microseconds(device_ns_);
  return result;
}

std::string CountedCalls::served_by() const {
  const std::scoped_lock lock(mutex_);
  return served_by_;
}

std::string to_text(const CellCounts& counts) {
  return concat(counts.calls, ' ', counts.host_calls, ' ', counts.host_time_us, ' ', counts.device_calls, ' ',
                counts.device_time_us, ' ', counts.traffic_calls, ' ', counts.traffic_bytes, ' ', counts.alloc_calls,
                ' ', counts.alloc_bytes, ' ', counts.peak_bytes);
}

std::optional<CellCounts> counts_from(std::string_view text) {
  std::istringstream in{std::string(text)};
  CellCounts counts;
  in >> counts.calls >> counts.host_calls >> counts.host_time_us >> counts.device_calls >> counts.device_time_us >>
      counts.traffic_calls >> counts.traffic_bytes >> counts.alloc_calls >> counts.alloc_bytes >> counts.peak_bytes;
  std::string rest;
  if (!in || in >> rest) return std::nullopt;
  return counts;
}

DeviceUse median_device_use(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<double> calls;
  std::vector<double> times;
  DeviceUse use;
  double count = 0;
  double time_us = 0;
  double is_span = 0;
  while (in >> count >> time_us >> is_span) {
    if (count < 0 || count > kMostDeviceCalls || time_us < 0) return {};
    calls.push_back(count);
    times.push_back(time_us);
    use.is_span = use.is_span || is_span != 0;
  }
  if (calls.empty() || !in.eof()) return {};
  use.calls = static_cast<std::uint64_t>(percentile(calls, 0.5));
  use.time_us = percentile(times, 0.5);
  return use;
}

}  // namespace tutti::tools
