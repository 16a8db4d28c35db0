#include "sinks/timeline/nesting.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tutti::profiling {

namespace {

/// Outer intervals come before those within them.
bool outer_first(const Interval& left, const Interval& right) {
  return std::tuple(left.begin_ns, ~left.end_ns, !left.operation, left.event) <
         std::tuple(right.begin_ns, ~right.end_ns, !right.operation, right.event);
}

/// Finds the operations that do not nest, in intervals that come ordered by outer_first. An interval is visited again
/// only until it is marked, so that many operations in flight do not cost their square.
class CrossingFinder {
 public:
  explicit CrossingFinder(const std::vector<Interval>& intervals)
      : intervals_(intervals), asynchronous_(intervals.size(), false) {}

  std::vector<bool> find() && {
    for (std::size_t index = 0; index < intervals_.size(); ++index) {
      const Interval& interval = intervals_[index];
      ends_.erase(ends_.begin(), ends_.upper_bound(interval.begin_ns));
      open_.erase(open_.begin(), open_.upper_bound(interval.begin_ns));
      if (!ends_.empty() && *ends_.begin() < interval.end_ns) mark_crossed(index);
      if (interval.operation) mark_rivals(index);
      ends_.insert(interval.end_ns);
      if (!asynchronous_[index]) open_.emplace(interval.end_ns, index);
    }
    return std::move(asynchronous_);
  }

 private:
  // Open intervals that end before this one does: none of them began later.
  void mark_crossed(std::size_t index) {
    asynchronous_[index] = intervals_[index].operation;
    const auto last = open_.lower_bound(intervals_[index].end_ns);
    for (auto other = open_.begin(); other != last;) {
      if (intervals_[other->second].operation) {
        asynchronous_[other->second] = true;
        other = open_.erase(other);
      } else {
        ++other;
      }
    }
  }

  // Of the open operations of a source all but the one that ends last are marked, if there are several.
  void mark_rivals(std::size_t index) {
    const Interval& interval = intervals_[index];
    const auto [last, first_of_source] = last_to_end_.try_emplace(interval.source, index);
    if (first_of_source) return;
    const std::size_t other = last->second;
    if (intervals_[other].end_ns > interval.begin_ns) asynchronous_[other] = asynchronous_[index] = true;
    if (intervals_[other].end_ns <= interval.end_ns) last->second = index;
  }

  const std::vector<Interval>& intervals_;
  std::vector<bool> asynchronous_;
  std::multiset<std::uint64_t> ends_;               // of all open intervals
  std::multimap<std::uint64_t, std::size_t> open_;  // those that are not marked, by end
  std::map<int, std::size_t> last_to_end_;          // by source: the operation with the latest end
};

Slice slice_of(const Interval& interval) {
  return {.begin_ns = interval.begin_ns, .end_ns = interval.end_ns, .event = interval.event};
}

/// Collects nested slices and puts a slice around each run of outermost ones with the same region.
class RegionWriter {
 public:
  explicit RegionWriter(std::vector<Slice>& slices) : slices_(slices) {}

  void begin_outermost(const Interval& interval) {
    if (interval.region != region_ || region_slice_ == kNone) {
      region_ = interval.region;
      region_slice_ = kNone;
      if (region_ != 0) {
        region_slice_ = static_cast<std::uint32_t>(slices_.size());
        slices_.push_back({.begin_ns = interval.begin_ns, .region = region_});
      }
    }
    if (region_slice_ != kNone) slices_[region_slice_].end_ns = interval.end_ns;
  }

 private:
  std::vector<Slice>& slices_;
  std::uint32_t region_ = 0;
  std::uint32_t region_slice_ = kNone;
};

}  // namespace

Nesting nest(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), outer_first);
  const std::vector<bool> asynchronous = CrossingFinder(intervals).find();
  Nesting result;
  RegionWriter regions(result.nested);
  std::vector<std::uint64_t> open_ends;
  for (std::size_t index = 0; index < intervals.size(); ++index) {
    const Interval& interval = intervals[index];
    if (asynchronous[index]) {
      result.crossing.push_back(interval);
      continue;
    }
    while (!open_ends.empty() && open_ends.back() <= interval.begin_ns) open_ends.pop_back();
    if (!open_ends.empty() && open_ends.back() < interval.end_ns) {
      result.crossing.push_back(interval);
      continue;
    }
    if (open_ends.empty()) regions.begin_outermost(interval);
    open_ends.push_back(interval.end_ns);
    result.nested.push_back(slice_of(interval));
  }
  return result;
}

std::vector<std::uint32_t> spread(std::span<const Interval> intervals) {
  std::vector<std::uint32_t> lanes;
  lanes.reserve(intervals.size());
  std::vector<std::uint64_t> ends;
  for (const Interval& interval : intervals) {
    const auto free =
        std::find_if(ends.begin(), ends.end(), [&](std::uint64_t end) { return end <= interval.begin_ns; });
    const auto lane = static_cast<std::size_t>(free - ends.begin());
    if (free == ends.end()) ends.push_back(0);
    ends[lane] = interval.end_ns;
    lanes.push_back(static_cast<std::uint32_t>(lane));
  }
  return lanes;
}

}  // namespace tutti::profiling
