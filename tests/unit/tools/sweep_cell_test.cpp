#include "sweep/plan/sweep_cell.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "results/results_csv.hpp"
#include "results/results_json.hpp"
#include "support/system/pseudo_terminal.hpp"
#include "sweep/rank/sweep_fault.hpp"
#include "sweep/show/sweep_table.hpp"
#include "sweep/sweep_device.hpp"
#include "text/text.hpp"
#include "tutti/tutti.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

TEST(SweepCell, SizesAreCountedAsNcclTestsDoes) {
  const CellShape allreduce({OpKind::allreduce, 1 << 20}, DataType::float32, 4);
  EXPECT_EQ(allreduce.count, 1U << 18);
  EXPECT_EQ(allreduce.message_bytes(), 1U << 20);
  const CellShape allgather({OpKind::allgather, 1 << 20}, DataType::float32, 4);
  EXPECT_EQ(allgather.count, 1U << 16);
  EXPECT_EQ(allgather.output_count, 1U << 18);
  EXPECT_EQ(allgather.message_bytes(), 1U << 20);
  const CellShape uneven({OpKind::alltoall, 1000}, DataType::float64, 3);
  EXPECT_EQ(uneven.message_bytes(), 984U);
  EXPECT_EQ(CellShape({OpKind::allgather, 1}, DataType::float64, 3).count, 1U);
}

TEST(SweepCell, TextAndBack) {
  const std::vector<SweepCell> cells = {{OpKind::allreduce, 1024}, {OpKind::reduce_scatter, 7, true}};
  EXPECT_EQ(to_text(cells[1]), "reduce_scatter:7:in-place");
  EXPECT_EQ(parse_cells(to_text(cells[0]) + "," + to_text(cells[1])), cells);
  EXPECT_THROW((void)parse_cells("allreduce"), UsageError);
  EXPECT_THROW((void)parse_cells("barrier:4"), UsageError);
  EXPECT_THROW((void)parse_cells("alltoall:4:in-place"), UsageError);
  EXPECT_THROW((void)parse_cells("allreduce:in-place"), UsageError);
  EXPECT_THROW((void)parse_cells("allreduce:4:in-plac"), UsageError);
}

// The result of an operation, computed by a simple loop.
std::vector<double> serial(const CellShape& shape, int rank, const std::vector<std::vector<double>>& inputs) {
  const OpTraits& row = traits(shape.op);
  const bool spread = row.input != Extent::block;
  const std::size_t offset = spread ? static_cast<std::size_t>(rank) * shape.count : 0;
  std::vector<double> result;
  for (std::size_t i = 0; i < shape.output_count; ++i) {
    if (row.reduces) {
      double sum = 0;
      for (const auto& input : inputs) sum += input[offset + i];
      result.push_back(sum);
    } else if (row.output == Extent::block) {
      result.push_back(inputs[0][offset + i]);
    } else {
      result.push_back(inputs[i / shape.count][offset + i % shape.count]);
    }
  }
  return result;
}

TEST(SweepCell, CheckAcceptsTheSerialResultAndNothingElse) {
  constexpr int kRanks = 3;
  for (const OpTraits& row : kOpTraits) {
    if (!is_sweepable(row.kind)) continue;
    for (const DataType type : kDataTypes) {
      const CellShape shape({row.kind, 1200}, type, kRanks);
      visit(type, [&]<typename T>(T*) {
        std::vector<std::vector<double>> inputs;
        for (int rank = 0; rank < kRanks; ++rank) {
          std::vector<T> input(shape.input_count);
          fill_input(shape, rank, 42, input.data());
          std::vector<double> numbers;
          for (const T value : input) {
            if constexpr (std::is_integral_v<T>)
              numbers.push_back(static_cast<double>(value));
            else
              numbers.push_back(static_cast<double>(static_cast<float>(value)));
          }
          inputs.push_back(std::move(numbers));
        }
        for (int rank = 0; rank < kRanks; ++rank) {
          std::vector<T> output;
          for (const double value : serial(shape, rank, inputs)) output.push_back(T(static_cast<float>(value)));
          EXPECT_EQ(check_output(shape, rank, 42, output.data(), 0, output.size()), "")
              << row.name << ' ' << name(type);
          output.back() = T(static_cast<float>(-1));
          EXPECT_NE(check_output(shape, rank, 42, output.data(), 0, output.size()), "")
              << row.name << ' ' << name(type);
          EXPECT_EQ(check_output(shape, rank, 42, output.data(), 0, output.size() - 1), "");
        }
      });
    }
  }
}

TEST(SweepCell, OnlyTheRootHasTheResultOfReduce) {
  const CellShape reduce({OpKind::reduce, 64}, DataType::int32, 2);
  EXPECT_TRUE(has_result(reduce, 0));
  EXPECT_FALSE(has_result(reduce, 1));
}

TEST(SweepCell, ProbesIncludeFirstAndLast) {
  for (const std::uint64_t count : {1ULL, 2ULL, 61ULL, 1000ULL, 1ULL << 40}) {
    const auto positions = probe_positions(count);
    EXPECT_EQ(positions.front(), 0U);
    EXPECT_EQ(positions.back(), count - 1);
  }
  EXPECT_TRUE(probe_positions(0).empty());
}

TEST(SweepFault, Parses) {
  const SweepFault fault = SweepFault::parse("hang@2K:mpi-mpich");
  EXPECT_EQ(fault.kind, SweepFault::Kind::hang);
  EXPECT_EQ(fault.bytes, 2048U);
  EXPECT_EQ(fault.target, "mpi:mpich");
  EXPECT_EQ(SweepFault::parse("hang@2K:horovod:mpi:mpich").target, "horovod:mpi:mpich");
  EXPECT_THROW((void)SweepFault::parse("sleep@2K:native"), UsageError);
  EXPECT_THROW((void)SweepFault::parse("hang"), UsageError);
}

SweepResults example() {
  SweepResults results;
  results.machine = "CPU, 2 cores, AVX2";
  results.ranks = 2;
  results.ops = {OpKind::allreduce};
  results.sizes = {1 << 20, 2 << 20};
  results.backends = {{.backend = "native"},
                      {.backend = "mpi:openmpi", .version = "4.1.4", .launcher = {"mpirun", "-n", "2"}}};
  results.backends.back().add_setting("thread level=multiple");
  results.backends.back().add_setting("thread level=multiple");
  results.unusable = {{"mpi:intel", "no launcher"}};
  for (const std::uint64_t size : results.sizes) {
    const SweepCell cell{OpKind::allreduce, size};
    const CellShape shape(cell, DataType::float32, 2);
    results.rows.push_back(make_row(cell, "native", shape, std::vector<double>{100, 110, 120}));
    results.rows.push_back(make_row(cell, "mpi:openmpi", shape, std::vector<double>{200, 210, 220}));
  }
  results.rows.back().status = "crashed: signal 11";
  return results;
}

TEST(SweepResults, BandwidthsAreThoseOfNcclTests) {
  const SweepResults results = example();
  const SweepRow& row = results.rows.front();
  EXPECT_EQ(row.time_us_min, 100);
  EXPECT_EQ(row.time_us_p50, 110);
  EXPECT_EQ(row.time_us_p99, 120);
  EXPECT_NEAR(row.algbw_gbs, (1 << 20) / 110e3, 1e-9);
  EXPECT_NEAR(row.busbw_gbs, row.algbw_gbs, 1e-9);  // 2 (n - 1) / n is 1 for two ranks
}

TEST(SweepResults, TableShowsTheFastestAndWhatHappened) {
  const std::string table = to_table(example(), Terminal(-1));
  EXPECT_NE(table.find("     1 MiB    110 us     9.53*    210 us     4.99 \n"), std::string::npos) << table;
  EXPECT_NE(table.find("crashed: signal 11"), std::string::npos) << table;
  EXPECT_NE(table.find("mpi:intel: not measured: no launcher"), std::string::npos) << table;
}

TEST(SweepCell, SizesThatAreTheSameNumberOfElementsAreOneCell) {
  const std::vector<std::uint64_t> sizes = {1, 3, 8, 15, 16, 32};
  EXPECT_EQ(distinct_cells(OpKind::allreduce, sizes, DataType::float64, 2),
            (std::vector<SweepCell>{{OpKind::allreduce, 1}, {OpKind::allreduce, 16}, {OpKind::allreduce, 32}}));
  EXPECT_EQ(distinct_cells(OpKind::allgather, sizes, DataType::float64, 2).size(), 2U) << "the block is 8 or 16 bytes";
}

TEST(SweepResults, TableShowsTheBytesThatWereMeasuredOnce) {
  SweepResults results = example();
  results.ops = {OpKind::allgather};
  results.type = DataType::float64;
  results.ranks = 3;
  results.sizes = {1, 3, 1 << 20};
  const std::string table = to_table(results, Terminal(-1));
  EXPECT_NE(table.find("\n      24 B "), std::string::npos) << table;
  EXPECT_EQ(table.find(" 1 B "), std::string::npos) << table;
  EXPECT_EQ(table.find(" 3 B "), std::string::npos) << table;
  EXPECT_NE(table.find("\n  1.00 MiB "), std::string::npos) << "1048560 bytes are not a whole number of MiB\n" << table;
}

TEST(SweepResults, TableIsNoWiderThanTheTerminal) {
  SweepResults results = example();
  results.device = "sycl";
  for (SweepRow& row : results.rows) row.device = {.calls = 1, .time_us = 42, .is_span = true};
  const test::PseudoTerminal pseudo(80);
  setenv("NO_COLOR", "1", 1);
  const std::string table = to_table(results, Terminal(pseudo.descriptor()));
  unsetenv("NO_COLOR");
  for (const std::string& line : split(table, '\n')) EXPECT_LE(line.size(), 80U) << table;
}

TEST(SweepResults, JsonHasNoTimesOfAFailure) {
  SweepResults results = example();
  results.rows = {results.rows.back()};
  results.rows[0].note = "\"quoted\" and no UTF-8: \xff";
  const std::string json = to_json(results);
  EXPECT_NE(json.find("\"status\": \"crashed: signal 11\",\n      \"time_us_p50\": null,\n"), std::string::npos)
      << json;
  EXPECT_NE(json.find("\"counted_calls\": null,\n      \"host_calls\": null,\n"), std::string::npos) << json;
  EXPECT_NE(json.find("\"note\": \"\\\"quoted\\\" and no UTF-8: \xef\xbf\xbd\"\n"), std::string::npos) << json;
}

TEST(SweepResults, JsonIsReadAsItWasWritten) {
  SweepResults results = example();
  results.head = {.tutti = "0.1", .hostname = "node1", .cpu = "a CPU", .cores = 2, .settings = {"seed=7"}};
  results.rows[0].counts = CellCounts{.calls = 10, .host_calls = 20, .host_time_us = 2.5, .peak_bytes = 4096};
  results.rows[0].run_medians_us = {1.5, 2.5};
  results.rows[0].served_by = "native";
  results.rows[0].cell.in_place = true;
  results.backends[0].devices = 2;
  const std::string json = to_json(results);
  EXPECT_EQ(to_json(results_from_json(json, "example.json")), json);
}

std::string reading_error(std::string_view text) {
  try {
    (void)results_from_json(text, "file.json");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(SweepResults, JsonThatWasEditedOrCutOffIsRefused) {
  const std::string json = to_json(example());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string edited = json;
    edited.replace(edited.find(from), from.size(), to);
    return reading_error(edited);
  };
  EXPECT_NE(reading_error(json.substr(0, json.size() / 2)).find("file.json: not JSON, or cut off"), std::string::npos);
  EXPECT_EQ(with("\"op\": \"allreduce\"", "\"op\": \"allreduced\""),
            "file.json: rows[0]: \"op\" names an unknown operation, \"allreduced\"");
  EXPECT_EQ(with("\"ranks\": 2,\n      \"status\"", "\"ranks\": -2,\n      \"status\""),
            "file.json: rows[0]: \"ranks\" is not a whole number in range");
  EXPECT_EQ(with("\"version\": 2", "\"version\": 9"),
            "file.json: results of version 9, this tutti reads versions up to 2; read them with the tutti that wrote "
            "them");
  EXPECT_EQ(with("\"status\"", "\"state\""), "file.json: rows[0]: \"status\" is missing");
  EXPECT_EQ(reading_error("[]"), "file.json: is not an object");
}

TEST(SweepResults, CsvHasTheKeysOfTheJson) {
  SweepResults results = example();
  results.rows[3].status = "failed: a, \"b\"";
  results.rows[0].counts = CellCounts{.calls = 3, .host_calls = 12, .host_time_us = 2.5};
  results.rows[0].rank_devices = {"host", "sycl:0"};
  results.rows[0].run_medians_us = {1, 2.5};
  results.rows[0].rank_time_us = {3, 4.5};
  results.rows[0].run_steps_us = {8, 9};
  results.rows[0].run_computes_us = {7};
  const std::string csv = to_csv(results);
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "op,bytes,requested_bytes,in_place,dtype,backend,device,rank_devices,ranks,status,time_us_p50,time_us_min,"
            "time_us_p99,algbw_gbs,busbw_gbs,run_medians_us,rank_time_us,run_steps_us,run_computes_us,"
            "observed_device_calls,observed_device_time_us,device_time_is_span,observed_time_us,counted_calls,host_"
            "calls,host_time_us,device_calls,device_time_us,"
            "traffic_bytes,traffic_calls,alloc_bytes,alloc_calls,peak_bytes,served_by,emulated,staged,note");
  EXPECT_NE(csv.find("allreduce,1048576,1048576,false,float32,native,host,host sycl:0,2,ok,110.0,"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",1.0 2.5,3.0 4.5,8.0 9.0,7.0,0,0.0,false,0.0,3,12,2.5,0,0.0,0,0,0,0,0,,,false,\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find("mpi:openmpi,host,,2,\"failed: a, \"\"b\"\"\",,,,,,,,,,,,,,,,,,,,,,,,,,false,\n"),
            std::string::npos)
      << csv;
}

TEST(SweepResults, CountsOfRanksAddUp) {
  CellCounts total;
  total.add_rank({.calls = 3, .host_calls = 4, .host_time_us = 1.5, .alloc_bytes = 10, .peak_bytes = 7});
  total.add_rank({.calls = 3, .host_calls = 5, .host_time_us = 2.5, .alloc_bytes = 20, .peak_bytes = 6});
  EXPECT_EQ(total.calls, 3U) << "of each rank";
  EXPECT_EQ(total.host_calls, 9U);
  EXPECT_EQ(total.host_time_us, 4);
  EXPECT_EQ(total.alloc_bytes, 30U);
  EXPECT_EQ(total.peak_bytes, 7U) << "of the rank where it was most";
}

TEST(SweepDevice, TimesThatOverlapCountOnce) {
  DeviceTimes times;
  const auto report = [&](std::string_view name, std::uint64_t begin, std::uint64_t end) {
    times.on(DeviceInterval{1, name, Device(), begin, end});
  };
  report("copy", 5000, 9000);
  report("copy", 1000, 6000);
  report("copy", 2000, 3000);
  report("kernel", 20000, 21000);
  EXPECT_EQ(times.calls(), 4U);
  EXPECT_DOUBLE_EQ(times.microseconds(), 9.0);
  EXPECT_FALSE(times.is_span());
  report("allreduce", 20500, 22000);
  EXPECT_DOUBLE_EQ(times.microseconds(), 10.0);
  EXPECT_TRUE(times.is_span()) << "an interval with the name of an operation comes from a library";
}

TEST(SweepResults, OnADeviceItsTimeIsShownToo) {
  SweepResults results = example();
  results.device = "sycl:0.0,sycl:0.1";
  for (SweepRow& row : results.rows) {
    row.device = {.calls = 2, .time_us = 42, .is_span = row.backend != "native"};
    row.observed_time_us = 130;
    row.rank_devices = {"sycl:0.0", "sycl:0.1"};
  }
  const std::string table = to_table(results, Terminal(-1));
  EXPECT_NE(table.find("sycl:0.0,sycl:0.1 memory (sycl:0.0 sycl:0.1)\n"), std::string::npos) << table;
  EXPECT_NE(table.find("      size      time   device     GB/s       time   device     GB/s \n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("     1 MiB    110 us  42.0 us     9.53*    210 us ~42.0 us     4.99 \n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("device: busy time"), std::string::npos) << table;
  EXPECT_NE(table.find("~: from "), std::string::npos) << table;
  EXPECT_NE(to_csv(results).find("native,\"sycl:0.0,sycl:0.1\",sycl:0.0 sycl:0.1,2,ok,"), std::string::npos);
  EXPECT_NE(to_csv(results).find(",2,42.0,false,130.0,"), std::string::npos) << to_csv(results);
  EXPECT_NE(to_json(results).find("\"observed_device_calls\": 2,\n      \"observed_device_time_us\": 42.0,\n"),
            std::string::npos)
      << to_json(results);
  for (SweepRow& row : results.rows) row.rank_devices = {"host", "host"};
  EXPECT_EQ(to_table(results, Terminal(-1)).find("device:"), std::string::npos) << "all ranks are on the host";
}

}  // namespace
}  // namespace tutti::tools
