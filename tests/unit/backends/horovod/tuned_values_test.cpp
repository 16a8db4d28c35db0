#include "autotune/tuned_values.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/system/temporary_folder.hpp"
#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

const TuningResult kResult = {.values = {.fusion_threshold_mb = 23.1234567890123,
                                         .cycle_time_ms = 0.1,
                                         .partition_mb = 4,
                                         .hierarchical_allgather = true,
                                         .cache_enabled = false},
                              .score = 1001.59,
                              .inner_backend = "mpi:openmpi"};

std::string error_of(const std::string& text) {
  try {
    (void)tuning_from_text(text, "tuning.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    return error.what();
  }
  return "no error";
}

TEST(TunedValues, UnitsAreThoseOfTheEngine) {
  const TunedValues values = {.fusion_threshold_mb = 0.5, .cycle_time_ms = 2.5, .partition_mb = 4};
  EXPECT_EQ(values.fusion_threshold_bytes(), 524288u);
  EXPECT_EQ(values.partition_bytes(), 4194304u);
  EXPECT_EQ(values.cycle_time(), std::chrono::microseconds(2500));
}

TEST(TunedValues, TextGivesTheSameNumbersBack) {
  EXPECT_EQ(tuning_from_text(to_text(kResult), ""), kResult);
  EXPECT_EQ(tuning_from_text(to_text({}), ""), TuningResult{});
  EXPECT_EQ(tuning_from_text(to_text(kResult) + "\n# remark\n", ""), kResult);
}

TEST(TunedValues, BadTextIsAnErrorWithItsLine) {
  const std::string good = to_text(kResult);
  EXPECT_NE(error_of("").find("ends without"), std::string::npos);
  EXPECT_NE(error_of("tutti-horovod-tuning 2\n").find("tuning.txt, line 1"), std::string::npos);
  EXPECT_NE(error_of(good + "cycle_time_ms 1\n").find("given twice"), std::string::npos);
  EXPECT_NE(error_of(good + "cycles 1\n").find("line 11: \"cycles 1\" is no known"), std::string::npos)
      << error_of(good + "cycles 1\n");
  EXPECT_NE(error_of("tutti-horovod-tuning 1\ncycle_time_ms nan\n").find("line 2"), std::string::npos);
  EXPECT_NE(error_of("tutti-horovod-tuning 1\ncycle_time_ms -1\n").find("line 2"), std::string::npos);
  EXPECT_NE(error_of("tutti-horovod-tuning 1\ncycle_time_ms\n").find("line 2"), std::string::npos);
  EXPECT_NE(error_of("tutti-horovod-tuning 1\ncycle_time_ms 1\n").find("ends without"), std::string::npos);
}

TEST(TunedValues, AreKeptInAFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("tuning.txt");
  save_tuning(path, {});
  save_tuning(path, kResult);
  EXPECT_EQ(load_tuning(path), kResult);
  // No temporary file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  for (const auto& use : {+[](const std::string& bad) { save_tuning(bad, kResult); },
                          +[](const std::string& bad) { (void)load_tuning(bad); }}) {
    try {
      use(folder.file("absent/tuning.txt"));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::system);
      EXPECT_NE(std::string(error.what()).find("absent/tuning.txt: the result of autotune cannot be"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tutti::horovod
