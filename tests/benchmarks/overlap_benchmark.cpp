// Measures how much of the time of several pending allreduces overlaps with other work of the ranks.
//
//   tutti run -n 2 -- overlap_benchmark [BYTES [IN_FLIGHT [ROUNDS]]]
//
// Each round measures in turn the reductions alone, the other work alone (of about the same duration), and both
// together. The overlap is the time saved by running both together, relative to the largest possible saving: at 100%,
// the shorter of the two costs no time. There are three ways to make progress and two kinds of other work: arithmetic,
// which competes with a progress thread for the core, and waiting, as for a GPU or a disk.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "tutti/tutti.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Shape {
  std::size_t count = (std::size_t{4} << 20) / sizeof(float);
  std::size_t in_flight = 4;
  std::size_t rounds = 15;
};

/// Other work of a rank, in slices; between them it may poll the reductions.
enum class Other { arithmetic, waiting };

void slice(Other other, Seconds length) {
  if (other == Other::waiting) {
    std::this_thread::sleep_for(length);
    return;
  }
  volatile double sink = 1.0;
  for (const auto end = Clock::now() + length; Clock::now() < end;) {
    for (int i = 0; i < 200; ++i) sink = sink * 1.0000001 + 1e-9;
  }
}

class Reductions {
 public:
  Reductions(const tutti::Communicator& comm, const Shape& shape)
      : comm_(comm), data_(shape.in_flight, std::vector<float>(shape.count, 1.0F)) {}

  void start() {
    for (auto& vector : data_) works_.push_back(comm_.allreduce(vector, {.op = tutti::Reduction::max, .async = true}));
  }
  void look() {
    for (tutti::Work& work : works_) (void)work.ready();
  }
  void finish() {
    for (tutti::Work& work : works_) work.wait();
    works_.clear();
  }

 private:
  const tutti::Communicator& comm_;
  std::vector<std::vector<float>> data_;
  std::vector<tutti::Work> works_;
};

/// Seconds of the slowest rank.
double timed(const tutti::Communicator& comm, const std::function<void()>& body) {
  comm.barrier();
  const auto begin = Clock::now();
  body();
  double seconds = Seconds(Clock::now() - begin).count();
  comm.allreduce(tutti::Buffer(&seconds, 1), {.op = tutti::Reduction::max});
  return seconds;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Way {
  const char* name;
  const tutti::Communicator& comm;
  bool looks;  ///< polls the reductions between slices of the other work
};

void measure(const Way& way, Other other, const Shape& shape) {
  Reductions reductions(way.comm, shape);
  const auto alone = [&] {
    reductions.start();
    reductions.finish();
  };
  std::vector<double> reducing;
  for (std::size_t i = 0; i < 5; ++i) reducing.push_back(timed(way.comm, alone));
  const Seconds length(median(reducing));
  constexpr int kSlices = 20;
  const auto work = [&](bool looks) {
    for (int i = 0; i < kSlices; ++i) {
      slice(other, length / kSlices);
      if (looks) reductions.look();
    }
  };
  std::vector<double> communication;
  std::vector<double> computation;
  std::vector<double> together;
  for (std::size_t round = 0; round < shape.rounds; ++round) {
    communication.push_back(timed(way.comm, alone));
    computation.push_back(timed(way.comm, [&] { work(false); }));
    together.push_back(timed(way.comm, [&] {
      reductions.start();
      work(way.looks);
      reductions.finish();
    }));
  }
  const double a = median(communication);
  const double b = median(computation);
  const double both = median(together);
  if (way.comm.rank() != 0) return;
  std::printf("  %-11s %-22s %9.3f %9.3f %9.3f %8.0f %%\n", other == Other::waiting ? "waiting" : "arithmetic",
              way.name, a * 1e3, b * 1e3, both * 1e3, 100.0 * (a + b - both) / std::min(a, b));
  std::fflush(stdout);
}

std::size_t number(const char* text, std::size_t smallest) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 0);
  if (end == text || *end != '\0' || value < smallest) {
    std::fprintf(stderr, "overlap_benchmark: \"%s\" is not a number of at least %zu\n", text, smallest);
    std::exit(2);
  }
  return static_cast<std::size_t>(value);
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  if (argc > 1) shape.count = number(argv[1], sizeof(float)) / sizeof(float);
  if (argc > 2) shape.in_flight = number(argv[2], 1);
  if (argc > 3) shape.rounds = number(argv[3], 1);
  try {
    const tutti::Communicator plain = tutti::world();
    tutti::CommunicatorOptions options;
    options.config.set("TUTTI_PROGRESS_THREAD", "1");
    const tutti::Communicator threaded = tutti::world(options);
    if (plain.rank() == 0) {
      std::printf("%zu allreduces of %zu bytes in flight, %d ranks on %s, %u cores\n\n", shape.in_flight,
                  shape.count * sizeof(float), plain.size(), plain.backend().data(),
                  std::thread::hardware_concurrency());
      std::printf("  other work  progress               reduce ms  other ms   both ms    overlap\n");
    }
    const Way ways[] = {{"by wait() at the end", plain, false},
                        {"by ready() in between", plain, true},
                        {"by a thread", threaded, false}};
    for (const Other other : {Other::arithmetic, Other::waiting}) {
      for (const Way& way : ways) measure(way, other, shape);
    }
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "overlap_benchmark: %s\n", error.what());
    return 1;
  }
}
