// Compares the Horovod-compatible engine with plain calls: many small tensors, a large one, one small one, and the time
// of an idle engine. A rank of a job: `tutti run -n 2 -- horovod_benchmark [--plain mpi:openmpi]`. Rank 0 prints a
// table; ratios are of medians in one run. `--engine`: only three numbers of the engine, in microseconds, for
// horovod_vs_upstream/compare.py.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tutti/horovod.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace tutti;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kTensors = 2000;

double middle(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

double time_us(const Communicator& comm, const std::function<void()>& body) {
  comm.barrier();
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// Medians of both, and of their ratio, measured in turns; those of the slowest rank.
struct Comparison {
  double us = 0;
  double reference_us = 0;
  double ratio = 0;
};

Comparison compare(const Communicator& comm, int repetitions, const std::function<void()>& body,
                   const std::function<void()>& reference) {
  std::vector<double> times;
  std::vector<double> reference_times;
  std::vector<double> ratios;
  for (int i = 0; i < repetitions + 3; ++i) {
    double both[2] = {time_us(comm, body), time_us(comm, reference)};
    if (i < 3) continue;
    comm.allreduce(Buffer(both, 2), {.op = Reduction::max});
    times.push_back(both[0]);
    reference_times.push_back(both[1]);
    ratios.push_back(both[0] / both[1]);
  }
  return {middle(times), middle(reference_times), middle(ratios)};
}

double median_us(const Communicator& comm, int repetitions, const std::function<void()>& body) {
  std::vector<double> times;
  for (int i = 0; i < repetitions + 3; ++i) {
    const double us = time_us(comm, body);
    if (i >= 3) times.push_back(us);
  }
  double median = middle(times);
  comm.allreduce(Buffer(&median, 1), {.op = Reduction::max});
  return median;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Communicator communicator(const char* backend) {
  CommunicatorOptions options{.name = backend};
  options.config.set("TUTTI_BACKEND", backend);
  return world(options);
}

struct Report {
  bool prints;
  void line(const char* what, const Comparison& found, const char* reference) const {
    if (prints)
      std::printf("%-44s %12.1f us   %6.2f x %s (%.1f us)\n", what, found.us, found.ratio, reference,
                  found.reference_us);
  }
};

/// Many small tensors, and their names.
struct Many {
  std::vector<std::vector<float>> tensors{kTensors};
  std::vector<std::string> names{kTensors};
  std::vector<horovod::Handle> handles{kTensors};
  std::size_t total = 0;

  Many() {
    for (std::size_t i = 0; i < kTensors; ++i) {
      tensors[i].assign(256 * (1 + i * 37 % 64), 1.0F);
      names[i] = "gradient." + std::to_string(i);
      total += tensors[i].size();
    }
  }
  void reduce(const horovod::Engine& engine, const horovod::TensorOptions& options) {
    for (std::size_t i = 0; i < kTensors; ++i) handles[i] = engine.allreduce(names[i], tensors[i], tensors[i], options);
    for (const auto& handle : handles) handle.wait();
  }
};

const horovod::TensorOptions kSum{.op = horovod::ReduceOp::sum};

int measure_engine() {
  const Communicator native = communicator("native");
  const horovod::Engine engine(communicator("horovod:native"));
  Many many;
  std::vector<float> large(many.total, 1.0F);
  std::vector<float> small(2, 1.0F);
  const double many_us = median_us(native, 15, [&] { many.reduce(engine, kSum); });
  const double large_us = median_us(native, 9, [&] { engine.allreduce("large", large, large, kSum).wait(); });
  const double small_us = median_us(native, 2000, [&] { engine.allreduce("small", small, small, kSum).wait(); });
  if (native.rank() == 0) std::printf("many %.1f\nlarge %.1f\nsmall %.2f\n", many_us, large_us, small_us);
  native.barrier();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--engine") == 0) return measure_engine();
  const char* plain_name = argc > 2 && std::strcmp(argv[1], "--plain") == 0 ? argv[2] : "mpi:openmpi";
  const Communicator native = communicator("native");
  const Communicator on_engine = communicator("horovod:native");
  const Communicator plain = communicator(plain_name);
  const horovod::Engine engine(on_engine);
  const Report report{native.rank() == 0};

  Many many;
  std::vector<float> whole(many.total, 1.0F);

  const auto fused = [&] { many.reduce(engine, kSum); };
  if (report.prints)
    std::printf("%zu tensors of 1-64 KiB, %.1f MB\n", kTensors, 4e-6 * static_cast<double>(many.total));
  const std::string one_by_one = std::string(plain_name) + " one by one";
  report.line("tensors through the engine",
              compare(native, 15, fused,
                      [&] {
                        for (auto& tensor : many.tensors) plain.allreduce(tensor);
                      }),
              one_by_one.c_str());
  report.line("", compare(native, 15, fused, [&] { native.allreduce(whole); }), "one allreduce of native");

  std::vector<float> large(16 << 20, 1.0F);
  report.line(
      "64 MiB tensor through the engine",
      compare(
          native, 21, [&] { engine.allreduce("large", large, large, kSum).wait(); }, [&] { native.allreduce(large); }),
      "native");

  std::vector<float> small(2, 1.0F);
  const auto small_direct = [&] { native.allreduce(small); };
  report.line("8 B cached tensor, comm.allreduce",
              compare(
                  native, 2000, [&] { on_engine.allreduce(small, {.label = "small"}); }, small_direct),
              "native");
  report.line("8 B cached tensor, enqueue and wait",
              compare(
                  native, 2000, [&] { engine.allreduce("small", small, small, kSum).wait(); }, small_direct),
              "native");

  native.barrier();
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double used = cpu_seconds() - before;
  if (report.prints) std::printf("idle engine: %.4f %% of a core\n", 100 * used / 2);
  native.barrier();
  return 0;
}
