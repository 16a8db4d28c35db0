#include "report.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <mutex>

#include "base/interpose/real_function.hpp"

namespace tutti::adapters::mpi {

constinit std::atomic<bool> is_counting{false};

namespace {

using mpi_table::kFunctionCount;

constexpr std::size_t kSizes = 48;  // powers of two

/// Times of sampled calls. The median is used: a rank that comes late makes a call of the others long.
class Times {
 public:
  void add(std::chrono::nanoseconds time) noexcept { samples_[number_++ % kSamples] = time; }
  [[nodiscard]] bool is_empty() const noexcept { return number_ == 0; }
  [[nodiscard]] double median_us() const {
    auto sorted = samples_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(number_, kSamples));
    std::sort(sorted.begin(), end);
    return static_cast<double>(sorted[static_cast<std::size_t>(end - sorted.begin()) / 2].count()) / 1e3;
  }

 private:
  static constexpr std::size_t kSamples = 31;
  std::array<std::chrono::nanoseconds, kSamples> samples_{};
  std::size_t number_ = 0;
};
/// The counters are added to without a lock, since calls that pass on shall be cheap; relaxed, because nothing depends
/// on their order.
struct Counts {
  std::array<std::atomic<std::uint64_t>, kOutcomes> calls{};
  std::array<std::atomic<std::uint64_t>, kSizes> served{};  ///< calls by size
  std::atomic<std::uint64_t> served_bytes{0};
  std::array<Times, kSizes> by_tutti{};
  std::array<Times, kSizes> by_mpi{};
};

struct Report {
  std::mutex mutex;  ///< of the times and the refusal
  std::array<Counts, kFunctionCount> functions;
  std::string refusal;
};
Report& report() {
  // Never destroyed: MPI may be called while the process exits. Made on first use: most processes do not count.
  static Report& only = *new Report;
  return only;
}

std::size_t size_class(std::uint64_t bytes) noexcept {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), kSizes - 1);
}

/// Time gained by the served calls of sizes that were measured both ways, in microseconds.
struct Gain {
  double gained_us = 0;
  double mpi_us = 0;
  std::uint64_t calls = 0;
};
Gain gain_of(const Counts& counts) {
  Gain gain;
  for (std::size_t size = 0; size < kSizes; ++size) {
    if (counts.by_tutti[size].is_empty() || counts.by_mpi[size].is_empty()) continue;
    const auto calls = static_cast<double>(counts.served[size]);
    gain.mpi_us += calls * counts.by_mpi[size].median_us();
    gain.gained_us += calls * (counts.by_mpi[size].median_us() - counts.by_tutti[size].median_us());
    gain.calls += counts.served[size];
  }
  return gain;
}

constexpr std::array<std::string_view, kOutcomes> kReasons = {"",
                                                              "to compare the times",
                                                              "first calls of a communicator",
                                                              "no gain expected",
                                                              "type or reduction",
                                                              "non-blocking without MPI_THREAD_MULTIPLE",
                                                              "communicator",
                                                              "never served",
                                                              "arguments",
                                                              "calls of tutti itself"};

std::string number(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string line_of(const mpi_table::Function& function, const Counts& counts, std::string_view backend) {
  const auto served = static_cast<std::size_t>(Outcome::served);
  std::uint64_t passed = 0;
  std::string reasons;
  for (std::size_t outcome = 1; outcome < kOutcomes; ++outcome) {
    if (counts.calls[outcome] == 0) continue;
    passed += counts.calls[outcome];
    reasons +=
        (reasons.empty() ? "" : "; ") + std::string(kReasons[outcome]) + " " + std::to_string(counts.calls[outcome]);
  }
  if (counts.calls[served] == 0 && passed == 0) return {};
  std::string line = "tutti:   " + std::string(function.name) + ": ";
  line += std::to_string(counts.calls[served]) + " served";
  if (counts.calls[served] > 0)
    line += " by " + std::string(backend) + " (" + number(static_cast<double>(counts.served_bytes) / 1e6, 1) + " MB)";
  line += ", " + std::to_string(passed) + " passed on";
  if (!reasons.empty()) line += " (" + reasons + ")";
  const Gain gain = gain_of(counts);
  if (gain.calls > 0) {
    line += "; estimated from medians of samples: " + number(gain.gained_us / 1e3, 1) + " ms " +
            (gain.gained_us < 0 ? "gained (negative: lost)" : "gained") + " of " + number(gain.mpi_us / 1e3, 1) +
            " ms in " + std::to_string(gain.calls) + " served calls";
  }
  return line + "\n";
}

/// Of the library that shares the program's memory, if it is preloaded.
std::string line_of_memory() {
  static constinit interpose::RealFunction<void (*)(std::uint64_t*, std::uint64_t*, std::uint64_t*)> numbers{
      "tutti_shared_blocks"};
  const auto ask = numbers.get();
  if (ask == nullptr) return {};
  std::uint64_t shared = 0;
  std::uint64_t ordinary = 0;
  std::uint64_t present = 0;
  ask(&shared, &ordinary, &present);
  if (shared + ordinary == 0) return {};
  return "tutti:   large blocks of memory: " + std::to_string(shared) + " shared, " + std::to_string(ordinary) +
         " could not be\n";
}

}  // namespace

void count_call(mpi_table::Row row, Outcome outcome, std::uint64_t bytes) noexcept {
  Counts& counts = report().functions[static_cast<std::size_t>(row)];
  counts.calls[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  if (outcome != Outcome::served) return;
  counts.served[size_class(bytes)].fetch_add(1, std::memory_order_relaxed);
  counts.served_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void count_time(mpi_table::Row row, Outcome outcome, std::uint64_t bytes, std::chrono::nanoseconds time) noexcept {
  Report& all = report();
  const std::lock_guard lock(all.mutex);
  Counts& counts = all.functions[static_cast<std::size_t>(row)];
  (outcome == Outcome::served ? counts.by_tutti : counts.by_mpi)[size_class(bytes)].add(time);
}

void note_refusal(std::string_view reason) noexcept {
  Report& all = report();
  const std::lock_guard lock(all.mutex);
  try {
    if (all.refusal.empty()) all.refusal = reason;
  } catch (...) {
    // Without memory the report lacks the reason.
    return;
  }
}

std::string report_text(std::string_view backend, std::string_view sizes) {
  Report& all = report();
  const std::lock_guard lock(all.mutex);
  std::string text;
  for (std::size_t i = 0; i < kFunctionCount; ++i) text += line_of(mpi_table::kFunctions[i], all.functions[i], backend);
  std::string head = "tutti: collectives of rank 0, served by tutti or passed on to MPI\n";
  head += "tutti:   sizes that are served: " + std::string(sizes) + "\n";
  if (text.empty()) head += "tutti:   none was called\n";
  if (!all.refusal.empty()) text += "tutti:   a communicator was left to MPI: " + all.refusal + "\n";
  return head + text + line_of_memory();
}

}  // namespace tutti::adapters::mpi
