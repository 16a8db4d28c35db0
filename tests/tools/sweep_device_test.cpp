// The sweep on memory of SYCL devices, run as a user runs it: without environment variables that locate the devices.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.hpp"
#include "support/devices/device_support.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;

class SweepOnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
    if (rank_devices("sycl").size() < 2)
      GTEST_SKIP() << "the SYCL device has fewer than two sub-devices; they need two cores";
  }

  /// Runs a sweep; returns the rows of its JSON file and keeps its output in table_, the backends in backends_.
  Json sweep(Words options, int code = 0) {
    const TemporaryFolder folder;
    Words words = {"sweep", "--quiet", "--ranks", "2", "--iterations", "3", "--json", folder.file("out.json")};
    words.insert(words.end(), options.begin(), options.end());
    const CommandResult result = run_tutti(words, environment_);
    EXPECT_EQ(result.code, code) << result.output;
    table_ = result.output;
    const Json document = Json::parse(read_file(folder.file("out.json")), nullptr, false);
    if (!document.is_object() || !document.contains("rows")) return Json::array();
    backends_ = document["backends"];
    return document["rows"];
  }

  /// Totals of 2 ranks: a staged operation copies its message in and out.
  static void expect_counts(const Json& row, bool is_staged) {
    const int operations = 2 * row["counted_calls"].get<int>();
    EXPECT_EQ(row["staged"], is_staged) << row;
    EXPECT_EQ(row["device_calls"], (is_staged ? 2 : 1) * operations) << row;
    EXPECT_GT(row["device_time_us"], 0) << row;
    EXPECT_EQ(row["traffic_calls"], is_staged ? 2 * operations : 0) << row;
    EXPECT_EQ(row["traffic_bytes"], is_staged ? 2 * operations * row["bytes"].get<std::uint64_t>() : 0) << row;
    EXPECT_GE(row["host_calls"], operations) << row;
    EXPECT_GT(row["host_time_us"], 0) << row;
    EXPECT_LE(row["peak_bytes"], row["alloc_bytes"]) << row;
  }

  static bool has_gpu() {
    const auto modules = device_modules();
    return std::ranges::any_of(modules, [](const DeviceModuleInfo& module) {
      return std::ranges::any_of(module.devices, &DeviceInfo::is_gpu);
    });
  }

  std::map<std::string, std::string> environment_;
  std::string table_;
  Json backends_;
};

TEST_F(SweepOnDevice, EveryBackendHasResultsAndTheTimeOfTheDevice) {
  const Json rows = sweep({"--backends", "ccl,native,mpi", "--sizes", "4K,1M", "--device", "sycl"});
  EXPECT_NE(table_.find("sycl memory (sycl:0.0 sycl:0.1)"), std::string::npos) << table_;
  // The sweep's "mpi" is the first MPI that it finds.
  const std::map<std::string, Words> targets = {
      {"ccl", {"ccl"}}, {"native", {"native"}}, {"mpi", {"mpi", "mpi:openmpi", "mpi:mpich", "mpi:intel"}}};
  std::string absent;
  for (const auto& [backend, names] : targets) {
    int found = 0;
    for (const Json& row : rows) {
      if (!row["backend"].get<std::string>().starts_with(backend)) continue;
      ++found;
      EXPECT_EQ(row["status"], "ok") << row;
      EXPECT_EQ(row["device"], "sycl");
      EXPECT_EQ(row["rank_devices"], Json({"sycl:0.0", "sycl:0.1"}));
      // oneCCL uses the device memory directly: one call on the device. The others need a copy in and a copy back.
      const bool is_staged = backend != "ccl";
      EXPECT_EQ(row["observed_device_calls"], is_staged ? 2 : 1) << row;
      EXPECT_GT(row["observed_device_time_us"], 0) << row;
      EXPECT_EQ(row["device_time_is_span"], !is_staged) << row;
      // The device has another clock than the host, but both times are of the same calls.
      EXPECT_LT(row["observed_device_time_us"].get<double>(), 1.5 * row["observed_time_us"].get<double>()) << row;
      expect_counts(row, is_staged);
      EXPECT_EQ(row["note"].get<std::string>().find("staged through host memory") != std::string::npos, is_staged)
          << row;
    }
    const bool not_measured = std::ranges::any_of(names, [&](const std::string& name) {
      return table_.find(" " + name + ": not measured:") != std::string::npos;
    });
    if (not_measured && found == 0) {
      for (const std::string& name : names) EXPECT_FALSE(is_required(name)) << absence(name, table_);
      absent += " " + backend;
    } else {
      EXPECT_EQ(found, 2) << backend << "\n" << table_;
    }
  }
  if (!absent.empty()) GTEST_SKIP() << "not usable:" << absent << "\n" << table_;
}

TEST_F(SweepOnDevice, AllocationsAreCountedBesideTheTraffic) {
  environment_ = {{"TUTTI_MODULE_PATH", TUTTI_TEST_MODULES}};
  // Every operation of this backend allocates 1000 and 24 bytes.
  const Json rows = sweep({"--backends", "fake_costly", "--sizes", "4K", "--device", "sycl"});
  ASSERT_EQ(rows.size(), 1U) << table_;
  const Json& row = rows[0];
  const int operations = 2 * row["counted_calls"].get<int>();
  EXPECT_EQ(row["status"], "ok") << row;
  expect_counts(row, true);
  EXPECT_EQ(row["alloc_calls"], 2 * operations) << row;
  EXPECT_EQ(row["alloc_bytes"], 1024 * operations) << row;
  EXPECT_EQ(row["peak_bytes"], 1024) << row;
}

TEST_F(SweepOnDevice, SetupCountsDevicesOfAllRanks) {
  (void)sweep({"--backends", "native", "--sizes", "4K", "--device", "sycl"});
  ASSERT_EQ(backends_.size(), 1U) << table_;
  EXPECT_EQ(backends_[0]["devices"], 1);
  EXPECT_EQ(backends_[0]["subdevices"], 2);
}

TEST_F(SweepOnDevice, EveryOperationIsRight) {
  const Json rows =
      sweep({"--backends", "native", "--sizes", "4000", "--device", "sycl", "--dtype", "int16", "--ops",
             "allreduce,allgather,allgatherv,reduce_scatter,reduce_scatterv,broadcast,reduce,gather,gatherv,scatter,"
             "scatterv,alltoall,alltoallv"});
  ASSERT_EQ(rows.size(), 13U) << table_;
  for (const Json& row : rows) EXPECT_EQ(row["status"], "ok") << row;
}

TEST_F(SweepOnDevice, RanksGoWhereTheyAreTold) {
  const Words common = {"--backends", "native", "--sizes", "4K", "--device"};
  const auto devices_for = [&](const std::string& device) {
    Words words = common;
    words.push_back(device);
    const Json rows = sweep(words);
    return rows.empty() ? Json() : rows[0]["rank_devices"];
  };
  EXPECT_EQ(devices_for("sycl:0.1,sycl:0.0"), Json({"sycl:0.1", "sycl:0.0"}));
  EXPECT_EQ(devices_for("sycl:0"), Json({"sycl:0", "sycl:0"}));
  EXPECT_EQ(devices_for("host,sycl:0.1"), Json({"host", "sycl:0.1"})) << "one rank on the host, one on the device";
  const Json automatic = devices_for("auto");
  if (!has_gpu()) {
    EXPECT_EQ(automatic, Json({"host", "host"}));
  }
}

TEST_F(SweepOnDevice, WhatIsNotThereIsSaidBeforeAnythingStarts) {
  const auto refusal = [](const std::string& device, const std::map<std::string, std::string>& environment = {}) {
    const CommandResult result = run_tutti({"sweep", "--sizes", "4K", "--device", device}, environment);
    EXPECT_EQ(result.code, 2) << result.output;
    EXPECT_EQ(result.output.find("GB/s"), std::string::npos) << result.output;
    return result.output;
  };
  EXPECT_NE(refusal("sycl:0.7").find("sycl:0.1"), std::string::npos);
  EXPECT_NE(refusal("sycl:0.0,sycl:3").find("sycl:3"), std::string::npos);
  EXPECT_NE(refusal("sycl", {{"TUTTI_SYCL_LIBRARY", "/no/such/libsycl.so"}}).find("/no/such/libsycl.so: cannot open"),
            std::string::npos);
}

}  // namespace
}  // namespace tutti::test
