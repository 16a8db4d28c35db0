// Compares the Horovod-compatible engine with plain calls: many small tensors, a large one, one small one, and the time
// of an idle engine. A rank of a job: `tutti run -n 2 -- horovod_benchmark [--plain mpi:openmpi]`. Rank 0 prints a
// table; ratios are of medians in one run.
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

double median_us(const Communicator& comm, int repetitions, const std::function<void()>& body) {
  std::vector<double> times;
  for (int i = 0; i < repetitions + 3; ++i) {
    comm.barrier();
    const auto begin = Clock::now();
    body();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (i >= 3) times.push_back(us);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  double median = times[times.size() / 2];
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
  void line(const char* what, double us, double reference_us, const char* reference) const {
    if (prints) std::printf("%-44s %12.1f us   %6.2f x %s\n", what, us, us / reference_us, reference);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const char* plain_name = argc > 2 && std::strcmp(argv[1], "--plain") == 0 ? argv[2] : "mpi:openmpi";
  const Communicator native = communicator("native");
  const Communicator on_engine = communicator("horovod:native");
  const Communicator plain = communicator(plain_name);
  const horovod::Engine engine(on_engine);
  const Report report{native.rank() == 0};

  std::vector<std::vector<float>> tensors(kTensors);
  std::vector<std::string> names(kTensors);
  std::size_t total = 0;
  for (std::size_t i = 0; i < kTensors; ++i) {
    tensors[i].assign(256 * (1 + i * 37 % 64), 1.0F);
    names[i] = "gradient." + std::to_string(i);
    total += tensors[i].size();
  }
  std::vector<float> whole(total, 1.0F);
  std::vector<horovod::Handle> handles(kTensors);
  const horovod::TensorOptions sum{.op = horovod::ReduceOp::sum};

  const double one_by_one = median_us(native, 15, [&] {
    for (auto& tensor : tensors) plain.allreduce(tensor);
  });
  const double at_once = median_us(native, 15, [&] { native.allreduce(whole); });
  const double fused = median_us(native, 15, [&] {
    for (std::size_t i = 0; i < kTensors; ++i) handles[i] = engine.allreduce(names[i], tensors[i], tensors[i], sum);
    for (const auto& handle : handles) handle.wait();
  });
  if (report.prints) {
    std::printf("%zu tensors of 1-64 KiB, %.1f MB; %s one by one %.1f us, one allreduce of native %.1f us\n", kTensors,
                4e-6 * static_cast<double>(total), plain_name, one_by_one, at_once);
  }
  report.line("tensors through the engine", fused, one_by_one, "one by one");
  report.line("", fused, at_once, "one allreduce");

  std::vector<float> large(16 << 20, 1.0F);
  const double direct = median_us(native, 9, [&] { native.allreduce(large); });
  const double through = median_us(native, 9, [&] { engine.allreduce("large", large, large, sum).wait(); });
  report.line("64 MiB tensor through the engine", through, direct, "native");

  std::vector<float> small(2, 1.0F);
  const double small_direct = median_us(native, 2000, [&] { native.allreduce(small); });
  const double small_call = median_us(native, 2000, [&] { on_engine.allreduce(small, {.label = "small"}); });
  const double small_named = median_us(native, 2000, [&] { engine.allreduce("small", small, small, sum).wait(); });
  report.line("8 B cached tensor, comm.allreduce", small_call, small_direct, "native");
  report.line("8 B cached tensor, enqueue and wait", small_named, small_direct, "native");

  native.barrier();
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const double used = cpu_seconds() - before;
  if (report.prints) std::printf("idle engine: %.4f %% of a core\n", 100 * used / 2);
  native.barrier();
  return 0;
}
