// Tuning files: text and table are the same, and faults are named by their lines.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/refusals.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"

namespace tutti {
namespace {

TuningTable sample() {
  TuningTable table{.tutti = std::string(version()),
                    .machine = this_tuning_machine(),
                    .host = "node7",
                    .device = "",
                    .libraries = {{"native", "0.1.0"}, {"mpi:openmpi", "Open MPI 4.1.4"}},
                    .rows = {}};
  TuningRow row{.op = OpKind::allreduce, .types = TypeClass::floating, .ranks_from = 2, .ranks_to = 2};
  row.to = 64 << 10;
  row.margin = 0.25;
  row.certainty = 0.9;
  row.backends = {{"native", {{1 << 10, 2.5}, {16 << 10, 10}}, Composition::reduce_scatter_allgather},
                  {"native", {{1 << 10, 3}}},
                  {"mpi:openmpi", {{1 << 10, 3.125}}}};
  table.rows.push_back(row);
  row.from = 64 << 10;
  row.to = kNoLimit;
  row.ranks_to = 4;
  row.backends = {{"mpi:openmpi", {}}};
  table.rows.push_back(row);
  TuningRow moves{.op = OpKind::allgather, .on_device = true, .types = TypeClass::any, .backends = {{"native", {}}}};
  table.rows.push_back(moves);
  table.engines = {{"horovod:native", 2, {{"fusion_threshold_mb", "23.5"}, {"inner_backend", "mpi:openmpi"}}},
                   {"horovod:native", 4, {{"cycle_time_ms", "1"}}}};
  return table;
}

const std::string kHead = "tutti-tuning 1\ntutti 1\ncpu X\ncores 2\n";

std::string fault_of(const std::string& text) {
  return test::error_of([&] { (void)parse_tuning(text); }, ErrorCode::config);
}

TEST(TuningFile, ReadsWhatItWrites) { EXPECT_EQ(parse_tuning(to_text(sample())), sample()); }

TEST(TuningFile, AcceptsCommentsBlankLinesAndBlanks) {
  const TuningTable table = parse_tuning(
      "# made by hand\n\n  tutti-tuning  1 \n tutti 1\ncpu A B \n\tcores 2\nrow barrier host any 2-4 0 end 0 1 \n"
      " # fast\nuse mpi-openmpi 0:1.5\n");
  EXPECT_EQ(table.machine.cpu, "A B");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].backends[0].spec, "mpi:openmpi");
  EXPECT_EQ(table.rows[0].ranks_to, 4);
}

TEST(TuningFile, NamesTheLineOfAFault) {
  const auto expect_fault = [](const std::string& lines, const std::string& words) {
    const std::string fault = fault_of(kHead + lines);
    EXPECT_NE(fault.find(words), std::string::npos) << lines << " gives: " << fault;
  };
  const std::string row = "row allreduce host floating 2 0 1K 0.1 0.9\n";
  expect_fault("colour blue\n", "line 5 has 'colour' in place of tutti, cpu");
  expect_fault("cores none\n", "line 5 has 'none'");
  expect_fault("row send host any 2 0 end 0 1\n", "'send' in place of a collective");
  expect_fault("row allreduce moon floating 2 0 end 0 1\n", "'moon'");
  expect_fault("row allreduce host any 2 0 end 0 1\n", "'any' in place of floating, half or integer");
  expect_fault("row broadcast host half 2 0 end 0 1\n", "'half' in place of any");
  expect_fault("row allreduce host floating 0 0 end 0 1\n", "'0' in place of a number of ranks");
  expect_fault("row allreduce host floating 4-2 0 end 0 1\n", "'4-2'");
  expect_fault("row allreduce host floating 2 1K 1K 0 1\n", "a size above 1K");
  expect_fault("row allreduce host floating 2 1K -3 0 1\n", "'-3' in place of a size");
  expect_fault("row allreduce host floating 2 0 end nan 1\n", "'nan'");
  expect_fault("row allreduce host floating 2 0 end 0 1.5\n", "'1.5' in place of a number from 0 to 1");
  expect_fault("row allreduce host floating 2 0 end\n", "line 5 ends before the margin");
  expect_fault("row allreduce host floating 2 0 end 0 1 2\n", "has '2' after its last word");
  expect_fault("use native\n", "names a backend before the first row");
  expect_fault(row, "ends after a row without a backend");
  expect_fault(row + row, "line 6 follows a row without a backend");
  expect_fault(row + "use native\n" + row + "use native\n", "line 7 is a row that overlaps");
  expect_fault(row + "use native\nuse native\n", "names native a second time");
  expect_fault(row + "use native as halves\nuse native as halves\n", "names native a second time");
  expect_fault(row + "use native as dance\n", "'dance' in place of a composition of allreduce");
  expect_fault(row + "use native as gather+broadcast\n", "in place of a composition of allreduce");
  expect_fault(row + "use native as\n", "line 6 ends before a composition");
  expect_fault("row alltoall host any 2 0 end 0 1\nuse native as halves\n", "'halves' in place of");
  expect_fault(row + "use Native!\n", "'Native!' in place of a backend");
  expect_fault(row + "use native 1K\n", "'1K' in place of SIZE:MICROSECONDS");
  expect_fault(row + "use native 1K:0\n", "a time above 0");
  expect_fault(row + "use native 1K:2 1K:3\n", "a larger size");
  expect_fault("engine horovod:native 2\n", "line 5 ends before KEY=VALUE");
  expect_fault("engine horovod:native none a=1\n", "'none' in place of a number of ranks");
  expect_fault("engine horovod:native 2 a=1 b\n", "'b' in place of KEY=VALUE");
  expect_fault("engine horovod:native 2 =1\n", "'=1' in place of KEY=VALUE");
  expect_fault("engine horovod:native 2 a=1\nengine horovod:native 2 a=2\n", "line 6 has values of horovod:native");
}

TEST(TuningFile, NeedsItsHead) {
  EXPECT_NE(fault_of("").find("it is empty"), std::string::npos);
  EXPECT_NE(fault_of("tutti-tuning 2\n").find("has format 2"), std::string::npos);
  EXPECT_NE(fault_of("{\"rows\": []}").find("in place of tutti-tuning"), std::string::npos);
  EXPECT_NE(fault_of("tutti-tuning 1\ntutti 1\ncores 2\n").find("'cpu'"), std::string::npos);
  EXPECT_NE(fault_of(std::string(2 << 20, '#')).find("1 MiB"), std::string::npos);
}

TEST(TuningFile, NoNameBeginsAnotherLine) {
  TuningTable table = sample();
  table.host = "a\nrow";
  table.libraries = {{"native", "1\nuse x"}};
  EXPECT_EQ(parse_tuning(to_text(table)).rows, table.rows);
}

TEST(TuningTable, FindsTheValuesOfAnEngine) {
  const TuningTable table = sample();
  EXPECT_EQ(table.find_engine("horovod:native", 2), &table.engines[0]);
  EXPECT_EQ(table.find_engine("horovod:native", 4), &table.engines[1]);
  EXPECT_EQ(table.find_engine("horovod:native", 3), nullptr);
  EXPECT_EQ(table.find_engine("horovod:mpi:openmpi", 2), nullptr);
}

TEST(TuningTable, FindsTheRowOfARange) {
  const TuningTable table = sample();
  const auto find = [&](OpKind op, TypeClass types, int ranks, std::uint64_t bytes) {
    return table.find(op, false, types, ranks, bytes);
  };
  EXPECT_EQ(find(OpKind::allreduce, TypeClass::floating, 2, 0), &table.rows[0]);
  EXPECT_EQ(find(OpKind::allreduce, TypeClass::floating, 2, (64 << 10) - 1), &table.rows[0]);
  EXPECT_EQ(find(OpKind::allreduce, TypeClass::floating, 2, 64 << 10), &table.rows[1]);
  EXPECT_EQ(find(OpKind::allreduce, TypeClass::floating, 3, 1 << 30), &table.rows[1]);
  EXPECT_EQ(find(OpKind::allreduce, TypeClass::floating, 3, 1), nullptr);
  EXPECT_EQ(find(OpKind::allreduce, TypeClass::half, 2, 1), nullptr);
  EXPECT_EQ(find(OpKind::allgather, TypeClass::any, 1, 1), nullptr) << "the row is one of device memory";
}

TEST(TuningTable, ExpectsTimesBetweenItsPoints) {
  const TunedBackend backend{"native", {{1 << 10, 2}, {4 << 10, 8}}};
  EXPECT_DOUBLE_EQ(backend.expected_us(1 << 10), 2);
  EXPECT_DOUBLE_EQ(backend.expected_us(100), 2);
  EXPECT_NEAR(backend.expected_us(2 << 10), 4, 0.01);
  EXPECT_DOUBLE_EQ(backend.expected_us(8 << 10), 16);
  EXPECT_EQ(TunedBackend{"native"}.expected_us(1), 0);
}

TEST(TuningTable, AppliesToItsMachineAndVersion) {
  const TuningTable table = sample();
  EXPECT_EQ(objection_to(table, table.machine, table.tutti), "");
  EXPECT_NE(objection_to(table, {"Abacus", table.machine.cores}, table.tutti).find("Abacus"), std::string::npos);
  EXPECT_NE(objection_to(table, {table.machine.cpu, 999}, table.tutti).find("999"), std::string::npos);
  EXPECT_NE(objection_to(table, table.machine, "99.0").find("99.0"), std::string::npos);
}

class LoadTuning : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
    std::filesystem::create_directories(folder.file("tutti"));
  }
  void TearDown() override { unsetenv("XDG_CONFIG_HOME"); }
  void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  test::TemporaryFolder folder;
  Config config;
};

TEST_F(LoadTuning, PrefersTheSettingToTheUsersFile) {
  EXPECT_EQ(user_tuning_path(), folder.file("tutti/tuning"));
  write(user_tuning_path(), to_text(sample()));
  EXPECT_EQ(load_tuning(config).path, user_tuning_path());
  TuningTable other = sample();
  other.rows.resize(1);
  write(folder.file("other"), to_text(other));
  config.set("TUTTI_TUNING", folder.file("other"));
  EXPECT_EQ(load_tuning(config).table, other);
  config.set("TUTTI_TUNING", "none");
  EXPECT_FALSE(load_tuning(config).table);
  EXPECT_EQ(load_tuning(config).notice, "");
}

TEST_F(LoadTuning, SaysWhyAFileIsNotUsed) {
  const auto notice = [&](const std::string& path) {
    config.set("TUTTI_TUNING", path);
    const LoadedTuning loaded = load_tuning(config);
    EXPECT_FALSE(loaded.table);
    return loaded.notice;
  };
  const std::string path = folder.file("file");
  EXPECT_NE(notice(path).find("does not exist"), std::string::npos);
  write(path, "nonsense");
  EXPECT_NE(notice(path).find("line 1"), std::string::npos);
  TuningTable old = sample();
  old.tutti = "0.0.1";
  write(path, to_text(old));
  EXPECT_NE(notice(path).find("tutti 0.0.1"), std::string::npos);
  EXPECT_NE(notice(folder.path().string()).find("no regular file"), std::string::npos);
  EXPECT_NE(notice("/dev/zero").find("no regular file"), std::string::npos);
}

TEST(VersionNumber, IsTheFirstWithADot) {
  EXPECT_EQ(version_number("Open MPI 4.1.4"), "4.1.4");
  EXPECT_EQ(version_number("oneCCL 2022.1.0, C++"), "2022.1.0");
  EXPECT_EQ(version_number("release 7."), "");
  EXPECT_EQ(version_number(""), "");
}

}  // namespace
}  // namespace tutti
