#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tutti::native {

/// Learns at run time whether slots are better written through the caches or past them.
///
/// Readers that share a cache with the writer find the data there. If the readers are further away, on another socket
/// or in another cluster of cores, each line of a slot has to come back from them before the slot can be written again;
/// that takes several times as long as stores that go past the caches to memory. The system does not tell which is the
/// case: virtual machines show one cache, run on two, and are moved. So now and then some chunks are written the other
/// way, long enough that the slots are where this way leaves them, and timed against chunks written the usual way.
/// Every writer chooses for itself; the readers need not know.
class WriteChoice {
 public:
  /// Chunks shorter than this teach nothing: the buffers between core and memory absorb most of such a chunk, so that
  /// it seems cheap to the writer wherever the readers are; only the readers could tell. They are written as the longer
  /// ones are, until so many have followed that the cores may have moved.
  static constexpr std::size_t kShortest = 64U << 10;
  /// Chunks shorter than this are always written through the caches.
  static constexpr std::size_t kShortestStreamed = 8U << 10;

  /// Writes a chunk by calling write(streaming).
  template <typename Clock = std::chrono::steady_clock, typename Write>
  void write(std::size_t bytes, const Write& write) {
    if (bytes < kShortest) {
      if (short_left_ > 0) short_left_ -= static_cast<std::int64_t>(bytes);
      write(streams_ && bytes >= kShortestStreamed && short_left_ > 0);
    } else if (phase_ == Phase::usual) [[likely]] {
      write(streams_);
      if ((left_ -= static_cast<std::int64_t>(bytes)) <= 0) begin(Phase::compared);
    } else {
      const auto begin = Clock::now();
      write(streams_ != (phase_ == Phase::tried));
      account(bytes, Clock::now() - begin);
    }
  }

  [[nodiscard]] bool streams() const noexcept { return streams_; }

 private:
  // `usual` is most of the time. Two timed phases follow: `compared` writes the usual way, `tried` the other way.
  enum class Phase : std::uint8_t { usual, compared, tried };
  struct Cost {
    double ns = 0;
    double bytes = 0;
    [[nodiscard]] double per_byte() const noexcept { return ns / bytes; }
  };

  void begin(Phase phase) noexcept;
  void account(std::size_t bytes, std::chrono::nanoseconds took) noexcept;
  void judge() noexcept;

  static constexpr std::int64_t kFirstPhase = 4 << 20;
  static constexpr std::int64_t kUsualPhase = 32 << 20;  // bytes; so many that the cost of trials is negligible
  static constexpr std::int64_t kTimedPhase = 1 << 20;

  Phase phase_ = Phase::usual;
  bool streams_ = false;
  int lost_ = 0;  // consecutive trials that the usual way has lost
  std::int64_t left_ = kFirstPhase;
  std::int64_t short_left_ = 0;  // bytes in short chunks for which the last trial speaks
  Cost compared_;
  Cost tried_;
};

}  // namespace tutti::native
