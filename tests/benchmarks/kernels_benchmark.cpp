// Bytes per second (all inputs read plus the output written) of the reduction kernels, compared with memcpy.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "kernel_table.hpp"

namespace tutti {
namespace {

constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kLarge = 64 << 20;

/// Memory aligned to a cache line, filled with 0x11 so that its pages exist.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : storage_(bytes + 64, std::byte{0x11}) {}
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return storage_.data() + (64 - address % 64) % 64;
  }

 private:
  std::vector<std::byte> storage_;
};

void reduce(benchmark::State& state, spi::ReduceKernel kernel, DataType type, Reduction reduction, std::size_t bytes,
            int sources, bool streaming) {
  std::vector<Memory> inputs(static_cast<std::size_t>(sources), Memory(bytes));
  std::vector<const void*> from;
  for (Memory& input : inputs) from.push_back(input.data());
  Memory output(bytes);
  void* const to[] = {output.data()};
  const spi::ReduceTuning tuning{.divisor = reduction == Reduction::average ? static_cast<std::uint64_t>(sources) : 1,
                                 .streamed_outputs = streaming ? 1 : 0};
  for (auto _ : state) {
    kernel(to, 1, from.data(), sources, bytes / size_of(type), tuning);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes) * (sources + 1));
}

void copy(benchmark::State& state, std::size_t bytes, bool streaming, bool plain) {
  Memory from(bytes), to(bytes);
  for (auto _ : state) {
    if (plain)
      std::memcpy(to.data(), from.data(), bytes);
    else
      spi::copy(to.data(), from.data(), bytes, streaming);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes) * 2);
}

std::string size_name(std::size_t bytes) { return bytes == kSmall ? "64KiB" : "64MiB"; }

void register_reductions(const host::KernelTable& table) {
  const auto add = [&table](Reduction reduction, DataType type, std::size_t bytes, int sources, bool streaming) {
    std::string label = std::string(table.target) + "/" + std::string(name(reduction)) + "/" + std::string(name(type)) +
                        "/" + std::to_string(sources) + "/" + size_name(bytes);
    if (streaming) label += "/streaming";
    benchmark::RegisterBenchmark(label.c_str(), [kernel = table.at(reduction, type), type, reduction, bytes, sources,
                                                 streaming](benchmark::State& state) {
      reduce(state, kernel, type, reduction, bytes, sources, streaming);
    });
  };
  for (std::size_t bytes : {kSmall, kLarge}) {
    for (Reduction reduction : {Reduction::sum, Reduction::max, Reduction::average}) {
      for (DataType type : kDataTypes) add(reduction, type, bytes, 2, false);
    }
    for (int sources : {3, 4, 8}) add(Reduction::sum, DataType::float32, bytes, sources, false);
  }
  for (DataType type : {DataType::float32, DataType::float16, DataType::bfloat16, DataType::float8_e4m3,
                        DataType::float8_e5m2, DataType::int32}) {
    add(Reduction::sum, type, kLarge, 2, true);
  }
}

void register_copies() {
  for (std::size_t bytes : {kSmall, kLarge}) {
    const auto add = [bytes](const std::string& label, bool streaming, bool plain) {
      benchmark::RegisterBenchmark((label + "/" + size_name(bytes)).c_str(),
                                   [=](benchmark::State& state) { copy(state, bytes, streaming, plain); });
    };
    add("memcpy", false, true);
    add("copy", false, false);
    add("copy/streaming", true, false);
  }
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  tutti::register_copies();
  // Static, because the names of the registered benchmarks point into the tables.
  static const auto tables = tutti::host::usable_kernels();
  for (const auto& table : tables) tutti::register_reductions(table);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
