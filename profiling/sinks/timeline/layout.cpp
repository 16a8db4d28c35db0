#include "sinks/timeline/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "sinks/timeline/names.hpp"
#include "sinks/timeline/nesting.hpp"

namespace tutti::profiling {

namespace {

/// Arranges the events of one process: threads, then the memory of the host, then devices.
class LayoutMaker {
 public:
  LayoutMaker(const Profile& profile, int process)
      : profile_(profile),
        process_(profile.processes.at(static_cast<std::size_t>(process))),
        events_(events_of(profile, process)) {
    if (events_.size() >= kNone / 2) throw std::length_error("timeline of one process: more than 2^31 events");
  }

  Layout make() && {
    sort_out();
    for (auto& [order, intervals] : threads_) place_thread(order.second, std::move(intervals));
    place_tensors();
    place_memory(-1, kNone);
    for (const int device : devices_) place_device(device);
    connect();
    return std::move(layout_);
  }

 private:
  [[nodiscard]] Interval interval_of(std::uint32_t index) const {
    const EventRow& event = events_[index];
    const std::uint64_t begin = shared_time(process_, event.begin_ns);
    return {.begin_ns = begin,
            .end_ns = std::max(begin, shared_time(process_, event.end_ns)),
            .event = index,
            .region = event.region,
            .source = event.source,
            .operation = event.kind == Kind::operation};
  }

  // Distributes the events to threads and devices.
  void sort_out() {
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
      const EventRow& event = events_[index];
      switch (event.kind) {
        case Kind::host:
        case Kind::operation:
          threads_[{event.thread != process_.pid, event.thread}].push_back(interval_of(index));
          if (event.correlation != 0) calls_.emplace_back(event.correlation, event.kind == Kind::operation, index);
          break;
        case Kind::device:
          work_[event.device].push_back(index);
          break;
        case Kind::traffic:
          copies_[event.device].push_back(index);
          break;
        case Kind::allocation:
        case Kind::release:
          if (event.error == 0) memory_[{event.device, event.source}].push_back(index);
          break;
        case Kind::stage:
          add_stage(index);
          break;
      }
    }
    for (const auto& [device, unused] : work_) devices_.push_back(device);
    for (const auto& [device, unused] : copies_) devices_.push_back(device);
    for (const auto& [place, unused] : memory_) {
      if (place.first >= 0) devices_.push_back(place.first);
    }
    std::sort(devices_.begin(), devices_.end(),
              [&](int left, int right) { return device_order(left) < device_order(right); });
    devices_.erase(std::unique(devices_.begin(), devices_.end()), devices_.end());
    std::sort(calls_.begin(), calls_.end());
  }

  std::uint32_t add_track(Track track) {
    layout_.tracks.push_back(std::move(track));
    return static_cast<std::uint32_t>(layout_.tracks.size() - 1);
  }

  void place_thread(std::uint32_t thread, std::vector<Interval> intervals) {
    const std::string name = thread == process_.pid ? "main thread" : fmt::format("thread {}", thread);
    const std::uint32_t track = add_track({.kind = Track::Kind::thread, .thread = thread, .name = name});
    Nesting nesting = nest(std::move(intervals));
    for (Slice& slice : nesting.nested) {
      slice.track = track;
      layout_.slices.push_back(slice);
    }
    place_lanes({.kind = Track::Kind::async_operations, .parent = track, .thread = thread, .name = "async operations"},
                nesting.crossing);
  }

  // Tensors are in the order in which they were first seen.
  void add_stage(std::uint32_t index) {
    const ContextRow* context = context_of(profile_, events_[index]);
    const std::string_view name = context == nullptr ? std::string_view("?") : std::string_view(context->label);
    const auto [found, is_new] = tensor_numbers_.try_emplace(name, tensors_.size());
    if (is_new) tensors_.emplace_back(name, std::vector<Interval>());
    Interval interval = interval_of(index);
    interval.region = 0;  // that of the thread which happened to work on the tensor
    tensors_[found->second].second.push_back(interval);
  }

  void place_tensors() {
    if (tensors_.empty()) return;
    const std::uint32_t parent = add_track({.kind = Track::Kind::tensors, .name = "named tensors"});
    for (auto& [name, intervals] : tensors_) {
      const Track description = {.kind = Track::Kind::tensor, .parent = parent, .name = valid_utf8(name)};
      const std::uint32_t track = add_track(description);
      Nesting nesting = nest(std::move(intervals));
      for (Slice& slice : nesting.nested) {
        slice.track = track;
        layout_.slices.push_back(slice);
      }
      // Of tensors with one name in two engines of the process.
      place_lanes(description, nesting.crossing);
    }
  }

  // One track for each lane, all with the same name: viewers show these as one.
  void place_lanes(const Track& description, const std::vector<Interval>& intervals) {
    const std::vector<std::uint32_t> lanes = spread(intervals);
    const std::uint32_t count = lanes.empty() ? 0 : *std::max_element(lanes.begin(), lanes.end()) + 1;
    std::vector<std::vector<Slice>> slices(count);
    for (std::size_t index = 0; index < intervals.size(); ++index) {
      const Interval& interval = intervals[index];
      const std::uint64_t own_begin = interval_of(interval.event).begin_ns;
      slices[lanes[index]].push_back(
          {.begin_ns = interval.begin_ns,
           .end_ns = interval.end_ns,
           .event = interval.event,
           .moved_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(interval.begin_ns - own_begin, kNone))});
    }
    for (std::vector<Slice>& lane : slices) {
      const std::uint32_t track = add_track(description);
      for (Slice& slice : lane) {
        slice.track = track;
        layout_.slices.push_back(slice);
      }
    }
  }

  // The call that started device work: of those with its correlation the last that began before it, else the first. A
  // library's call counts before the operation around it.
  [[nodiscard]] std::uint32_t call_of(const EventRow& work) const {
    if (work.correlation == 0) return kNone;
    const auto first = std::lower_bound(calls_.begin(), calls_.end(), std::tuple(work.correlation, false, 0U));
    if (first == calls_.end() || std::get<0>(*first) != work.correlation) return kNone;
    auto best = first;
    for (auto call = first; call != calls_.end(); ++call) {
      if (std::get<0>(*call) != work.correlation || std::get<1>(*call) != std::get<1>(*first)) break;
      if (events_[std::get<2>(*call)].begin_ns <= work.begin_ns) best = call;
    }
    return std::get<2>(*best);
  }

  // Intervals of device events, none before its call: the clock of a device is known to some precision only, and arrows
  // that go back in time are not shown.
  std::vector<Interval> device_intervals(const std::vector<std::uint32_t>& indices) {
    std::vector<Interval> intervals;
    intervals.reserve(indices.size());
    for (const std::uint32_t index : indices) {
      Interval interval = interval_of(index);
      if (const std::uint32_t call = call_of(events_[index]); call != kNone) {
        interval.begin_ns = std::max(interval.begin_ns, interval_of(call).begin_ns);
        interval.end_ns = std::max(interval.end_ns, interval.begin_ns);
        started_.emplace_back(call, index);
      }
      intervals.push_back(interval);
    }
    std::sort(intervals.begin(), intervals.end(), [](const Interval& left, const Interval& right) {
      return std::tuple(left.begin_ns, left.event) < std::tuple(right.begin_ns, right.event);
    });
    return intervals;
  }

  void place_device(int device) {
    const std::uint32_t parent = parent_device(device);
    const Track work = {.kind = Track::Kind::device, .parent = parent, .name = device_name(device)};
    const auto first = static_cast<std::uint32_t>(layout_.tracks.size());
    if (const auto found = work_.find(device); found != work_.end()) {
      place_lanes(work, device_intervals(found->second));
    } else if (device >= 0) {
      add_track(work);
    }
    const std::uint32_t own = first < layout_.tracks.size() ? first : kNone;
    if (device >= 0) device_tracks_[device] = own;
    if (const auto found = copies_.find(device); found != copies_.end())
      place_lanes({.kind = Track::Kind::copies, .parent = own, .name = "explicit copies"},
                  device_intervals(found->second));
    if (device >= 0) place_memory(device, own);
  }

  // Allocations that several sources see are counted once by each: a counter belongs to a source.
  void place_memory(int device, std::uint32_t parent) {
    for (const auto& [place, indices] : memory_) {
      if (place.first != device) continue;
      std::string_view title = category_of(profile_, events_[indices.front()]);
      if (title.starts_with("BACKEND_")) title.remove_prefix(8);
      const std::string_view place_name = device < 0 ? "host memory" : "memory";
      const std::uint32_t track = add_track({.kind = Track::Kind::memory,
                                             .parent = parent,
                                             .name = fmt::format("{} ({})", place_name, valid_utf8(title))});
      std::int64_t held = 0;
      for (const std::uint32_t index : indices) {
        const EventRow& event = events_[index];
        const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(event.bytes, INT64_MAX / 2));
        const std::int64_t change = event.kind == Kind::allocation ? bytes : -bytes;
        if (__builtin_add_overflow(held, change, &held)) held = change > 0 ? INT64_MAX : INT64_MIN;
        layout_.points.push_back({.time_ns = shared_time(process_, event.begin_ns),
                                  .value = static_cast<std::uint64_t>(std::max<std::int64_t>(held, 0)),
                                  .track = track});
      }
    }
  }

  void connect() {
    std::vector<std::uint32_t> slice_of(events_.size(), kNone);
    for (std::uint32_t index = 0; index < layout_.slices.size(); ++index) {
      if (layout_.slices[index].event != kNone) slice_of[layout_.slices[index].event] = index;
    }
    for (const auto& [call, work] : started_) layout_.flows.push_back({.from = slice_of[call], .to = slice_of[work]});
    std::sort(layout_.flows.begin(), layout_.flows.end(), [](const Flow& left, const Flow& right) {
      return std::tuple(left.from, left.to) < std::tuple(right.from, right.to);
    });
  }

  [[nodiscard]] const DeviceRow* device_row(int device) const {
    const auto index = static_cast<std::size_t>(device);
    return device >= 0 && index < profile_.devices.size() ? &profile_.devices[index] : nullptr;
  }

  // Whole devices come before their sub-devices.
  [[nodiscard]] std::tuple<std::size_t, bool, int> device_order(int device) const {
    const DeviceRow* row = device_row(device);
    return {device_number(row), row != nullptr && row->sub_device != 0, device};
  }

  // Number of the device in the order in which the profile names devices.
  [[nodiscard]] std::size_t device_number(const DeviceRow* row) const {
    std::vector<std::uint64_t> seen;
    for (const DeviceRow& other : profile_.devices) {
      if (row == nullptr || other.device == row->device) break;
      if (std::find(seen.begin(), seen.end(), other.device) == seen.end()) seen.push_back(other.device);
    }
    return seen.size();
  }

  [[nodiscard]] std::string device_name(int device) const {
    const DeviceRow* row = device_row(device);
    if (row == nullptr) return "device work";
    if (row->sub_device == 0) return fmt::format("device {}: {}", device_number(row), valid_utf8(row->name));
    std::vector<std::uint64_t> seen;
    for (const DeviceRow& other : profile_.devices) {
      if (other.device != row->device || other.sub_device == 0) continue;
      if (other.sub_device == row->sub_device) break;
      if (std::find(seen.begin(), seen.end(), other.sub_device) == seen.end()) seen.push_back(other.sub_device);
    }
    return fmt::format("sub-device {}.{}", device_number(row), seen.size());
  }

  // The track of the device that a sub-device belongs to; made for it where the device itself did nothing.
  std::uint32_t parent_device(int device) {
    const DeviceRow* row = device_row(device);
    if (row == nullptr || row->sub_device == 0) return kNone;
    const auto [whole, absent] = whole_devices_.try_emplace(row->device, kNone);
    if (!absent) return whole->second;
    for (const auto& [other, track] : device_tracks_) {
      const DeviceRow* candidate = device_row(other);
      if (candidate != nullptr && candidate->device == row->device && candidate->sub_device == 0) whole->second = track;
    }
    if (whole->second == kNone) {
      const std::string name = fmt::format("device {}: {}", device_number(row), valid_utf8(row->name));
      whole->second = add_track({.kind = Track::Kind::device, .name = name});
    }
    return whole->second;
  }

  const Profile& profile_;
  const ProcessRow& process_;
  std::span<const EventRow> events_;
  Layout layout_;
  std::map<std::pair<bool, std::uint32_t>, std::vector<Interval>> threads_;  // the main thread first
  std::map<int, std::vector<std::uint32_t>> work_, copies_;                  // by device
  std::map<std::pair<int, int>, std::vector<std::uint32_t>> memory_;         // by device and source
  std::map<std::string_view, std::size_t> tensor_numbers_;                   // index of tensors_ by name
  std::vector<std::pair<std::string_view, std::vector<Interval>>> tensors_;  // stages by tensor
  std::vector<int> devices_;
  std::vector<std::tuple<std::uint64_t, bool, std::uint32_t>> calls_;  // correlation, is an operation, event
  std::vector<std::pair<std::uint32_t, std::uint32_t>> started_;       // event of the call, event of the work
  std::map<int, std::uint32_t> device_tracks_;
  std::map<std::uint64_t, std::uint32_t> whole_devices_;
};

}  // namespace

std::span<const EventRow> events_of(const Profile& profile, int process) {
  const auto first = std::lower_bound(profile.events.begin(), profile.events.end(), process,
                                      [](const EventRow& event, int wanted) { return event.process < wanted; });
  const auto last = std::upper_bound(first, profile.events.end(), process,
                                     [](int wanted, const EventRow& event) { return wanted < event.process; });
  return {first, last};
}

Layout lay_out(const Profile& profile, int process) { return LayoutMaker(profile, process).make(); }

std::vector<int> display_order(const Profile& profile) {
  std::vector<int> order(profile.processes.size());
  std::iota(order.begin(), order.end(), 0);
  // Hosts by their lowest rank; processes without a rank (launchers, shells) come last on their host.
  const auto rank_of = [](const ProcessRow& row) {
    return row.rank < 0 ? UINT32_MAX : static_cast<unsigned>(row.rank);
  };
  std::map<std::string_view, unsigned> lowest;
  for (const ProcessRow& row : profile.processes) {
    const auto [entry, added] = lowest.try_emplace(row.host, rank_of(row));
    entry->second = std::min(entry->second, rank_of(row));
  }
  const auto key = [&](int index) {
    const ProcessRow& row = profile.processes[static_cast<std::size_t>(index)];
    return std::tuple(lowest.at(row.host), std::string_view(row.host), rank_of(row), row.pid, index);
  };
  std::sort(order.begin(), order.end(), [&](int left, int right) { return key(left) < key(right); });
  return order;
}

}  // namespace tutti::profiling
