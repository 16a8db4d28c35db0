#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::test {

/// Collects failures. Wrong data does not stop a rank, because the others would wait for it for ever. Thread-safe.
class Report {
 public:
  /// Counts a failure; only the first messages are kept.
  void fail(std::string message);
  /// fail() unless `condition` holds.
  void expect(bool condition, std::string_view message) {
    if (!condition) fail(std::string(message));
  }
  /// Counts a comparison, so that a run without any comparison can be detected.
  void count_check() noexcept { checks_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_.load(); }
  [[nodiscard]] std::uint64_t checks() const noexcept { return checks_.load(); }
  /// One line per failure; empty when there is no failure.
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t kKept = 20;
  std::atomic<std::uint64_t> checks_{0};
  std::atomic<std::uint64_t> failures_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> kept_;
};

}  // namespace tutti::test
