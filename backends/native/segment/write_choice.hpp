#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "segment/write_trials.hpp"

namespace tutti::native {

/// Whether the readers of a chunk measure how long reading it takes, and for which way of writing: the usual one or the
/// one that is tried.
enum class Watch : std::uint8_t { none, usual, tried };
inline constexpr std::size_t kWatched = 2;
/// Place of a watched way in arrays of length kWatched.
[[nodiscard]] constexpr std::size_t index_of(Watch watch) noexcept { return watch == Watch::tried ? 1 : 0; }

/// Learns at run time whether slots are better written through the caches or past them.
///
/// Readers that share a cache with the writer find the data there. If the readers are further away, on another socket
/// or in another cluster of cores, each line of a slot has to come back from them before the slot can be written again;
/// that takes several times as long as stores that go past the caches to memory. The system does not tell which is the
/// case: virtual machines show one cache, run on two, and are moved. So now and then some chunks are written the other
/// way, long enough that the slots are where this way leaves them, and timed against chunks written the usual way.
/// Every writer chooses for itself.
///
/// Long chunks: the writer's time decides. Short chunks: the buffers between core and memory absorb most of such a
/// chunk, so that it seems cheap to the writer wherever the readers are. There the readers time the chunks of a trial,
/// too (see Watch), and the time of writer and readers together decides.
class WriteChoice {
 public:
  /// Chunks shorter than this are short.
  static constexpr std::size_t kShortest = 64U << 10;
  /// Chunks shorter than this are always written through the caches.
  static constexpr std::size_t kShortestStreamed = 4U << 10;

  /// Writes a chunk by calling write(streaming). Returns what the readers of the chunk are asked to measure.
  /// `reads(watch)` is the MoveCost that they have reported so far.
  template <typename Clock = std::chrono::steady_clock, typename Write, typename Reads>
  [[nodiscard]] Watch write(std::size_t bytes, const Write& write, const Reads& reads) {
    if (bytes < kShortestStreamed) {
      write(false);
      return Watch::none;
    }
    const bool is_short = bytes < kShortest;
    WriteTrials& trials = is_short ? short_ : long_;
    if (trials.phase() == Phase::usual) [[likely]] {
      write(trials.streams());
      if (trials.pass(bytes)) {
        if (is_short) reads_before_ = {reads(Watch::usual), reads(Watch::tried)};
        begin(is_short);
      }
      return Watch::none;
    }
    const bool is_tried = trials.phase() == Phase::tried;
    const auto begin_time = Clock::now();
    write(trials.streams_next());
    if (trials.has_settled()) {
      const std::chrono::duration<double, std::nano> took = Clock::now() - begin_time;
      costs_[is_short ? 0 : 1][is_tried ? 1 : 0].add(static_cast<double>(bytes), took.count());
    }
    if (trials.pass(bytes)) {
      if (is_tried && is_short) judge_short({reads(Watch::usual), reads(Watch::tried)});
      if (is_tried && !is_short) judge_long();
      trials.begin_next();
    }
    if (!is_short) return Watch::none;
    return is_tried ? Watch::tried : Watch::usual;
  }

  /// Whether long chunks, or short ones, usually go past the caches.
  [[nodiscard]] bool streams() const noexcept { return long_.streams(); }
  [[nodiscard]] bool streams_short() const noexcept { return short_.streams(); }
  /// Trials of both, for reports.
  [[nodiscard]] const WriteTrials& long_trials() const noexcept { return long_; }
  [[nodiscard]] const WriteTrials& short_trials() const noexcept { return short_; }

 private:
  using Phase = WriteTrials::Phase;
  using Costs = std::array<MoveCost, kWatched>;

  void begin(bool is_short) noexcept;
  void judge_long() noexcept;
  void judge_short(const Costs& reads) noexcept;

  // Readers pay for data that is not in a cache, so the gain of the writer alone must be clear.
  static constexpr WriteTrials::Rule kLong = {
      .first = 4 << 20, .usual = 32 << 20, .timed = 1 << 20, .gain_to_stream = 1.5, .gain_to_go_on = 1.25};
  // Programs with short messages only should learn soon, also that the cores were moved.
  static constexpr WriteTrials::Rule kShort = {
      .first = 512 << 10, .usual = 16 << 20, .timed = 128 << 10, .gain_to_stream = 1.2, .gain_to_go_on = 1};

  WriteTrials long_{kLong};
  WriteTrials short_{kShort};
  std::array<Costs, 2> costs_;  // of writing: by length (short, long) and way
  Costs reads_before_;          // reported before the trial of short chunks
};

}  // namespace tutti::native
