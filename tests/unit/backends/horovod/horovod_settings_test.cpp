#include "settings/horovod_settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

using Variables = std::map<std::string, std::string>;

Lookup in(const Variables& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

HorovodSettings read(const Variables& variables, bool several_hosts = true) {
  return read_horovod_settings(in(variables), several_hosts);
}

std::string error_of(const Variables& variables) {
  try {
    (void)read(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    return error.what();
  }
  return "no error";
}

TEST(HorovodSettings, DefaultsAreUpstreams) {
  const HorovodSettings settings = read({});
  EXPECT_EQ(settings.fusion_threshold_or_default(), std::size_t{128} << 20);
  EXPECT_EQ(settings.cycle_time_or_default(), std::chrono::milliseconds(1));
  EXPECT_EQ(settings.cache_capacity_or_default(), 1024u);
  EXPECT_FALSE(settings.fusion_threshold || settings.cycle_time || settings.hierarchical_allreduce);
  EXPECT_FALSE(settings.autotune);
  EXPECT_EQ(settings.autotune_warmup_samples, 3);
  EXPECT_EQ(settings.autotune_steps_per_sample, 10);
  EXPECT_EQ(settings.autotune_samples, 20);
  EXPECT_EQ(settings.autotune_noise, 0.8);
  EXPECT_TRUE(settings.stall_check && settings.fuses_groups && settings.batches_device_copies);
  EXPECT_EQ(settings.stall_warning.count(), 60);
  EXPECT_EQ(settings.adasum_chunk, std::size_t{1} << 30);
}

// The defaults are written twice, in the table for people and in the structure for the engine.
TEST(HorovodSettings, TheTablesDefaultsGiveTheSameSettings) {
  Variables variables;
  for (const HorovodVariable& variable : horovod_variables())
    variables[std::string(variable.name)] = std::string(variable.default_value);
  const HorovodSettings from_table = read(variables);
  const HorovodSettings plain = read({});
  EXPECT_EQ(from_table.fusion_threshold, plain.fusion_threshold_or_default());
  EXPECT_EQ(from_table.cycle_time, plain.cycle_time_or_default());
  EXPECT_EQ(from_table.cache_capacity, plain.cache_capacity_or_default());
  EXPECT_EQ(from_table.autotune_samples, plain.autotune_samples);
  EXPECT_EQ(from_table.autotune_noise, plain.autotune_noise);
  EXPECT_EQ(from_table.autotune_steps_per_sample, plain.autotune_steps_per_sample);
  EXPECT_EQ(from_table.autotune_warmup_samples, plain.autotune_warmup_samples);
  EXPECT_EQ(from_table.stall_warning, plain.stall_warning);
  EXPECT_EQ(from_table.stall_shutdown, plain.stall_shutdown);
  EXPECT_EQ(from_table.adasum_chunk, plain.adasum_chunk);
  EXPECT_EQ(from_table.batches_device_copies, plain.batches_device_copies);
  EXPECT_EQ(from_table.fuses_groups, plain.fuses_groups);
}

TEST(HorovodSettings, ValuesAreReadAsUpstreamDoes) {
  const HorovodSettings settings = read({{"HOROVOD_FUSION_THRESHOLD", "0"},
                                         {"HOROVOD_CYCLE_TIME", "0.5"},
                                         {"HOROVOD_CACHE_CAPACITY", "0"},
                                         {"HOROVOD_AUTOTUNE", "2"},
                                         {"HOROVOD_AUTOTUNE_LOG", "/tmp/log.csv"},
                                         {"HOROVOD_TIMELINE", "DYNAMIC"},
                                         {"HOROVOD_STALL_CHECK_DISABLE", "1"},
                                         {"HOROVOD_BATCH_D2D_MEMCOPIES", "0"},
                                         {"HOROVOD_DISABLE_GROUP_FUSION", "1"},
                                         {"HOROVOD_THREAD_AFFINITY", "3,0,12"},
                                         {"HOROVOD_LOG_LEVEL", "DEBUG"}});
  EXPECT_EQ(settings.fusion_threshold, std::size_t{0});
  EXPECT_EQ(settings.cycle_time, std::chrono::microseconds(500));
  EXPECT_EQ(settings.cache_capacity, std::size_t{0});
  EXPECT_TRUE(settings.autotune && settings.timeline_dynamic);
  EXPECT_EQ(settings.autotune_log, "/tmp/log.csv");
  EXPECT_EQ(settings.timeline, "");
  EXPECT_FALSE(settings.stall_check || settings.batches_device_copies || settings.fuses_groups);
  EXPECT_EQ(settings.thread_affinity, (std::vector<int>{3, 0, 12}));
  EXPECT_EQ(read({{"HOROVOD_TIMELINE", "/tmp/t.json"}}).timeline, "/tmp/t.json");
}

TEST(HorovodSettings, HierarchicalSwitchesHaveNoEffectOnOneHost) {
  const Variables variables = {{"HOROVOD_HIERARCHICAL_ALLREDUCE", "1"}, {"HOROVOD_TORUS_ALLREDUCE", "1"}};
  EXPECT_EQ(read(variables, true).hierarchical_allreduce, true);
  EXPECT_EQ(read(variables, true).torus_allreduce, true);
  EXPECT_EQ(read(variables, false).hierarchical_allreduce, false);
  EXPECT_EQ(read(variables, false).torus_allreduce, false);
  EXPECT_EQ(read(variables).hierarchical_allgather, std::nullopt);
}

TEST(HorovodSettings, UpstreamsTrapsAreErrorsUnlessCompatible) {
  const std::string error = error_of({{"HOROVOD_AUTOTUNE", "true"}});
  EXPECT_NE(error.find("HOROVOD_AUTOTUNE=true is a word, and upstream Horovod reads off from it"), std::string::npos)
      << error;
  EXPECT_NE(error.find("HOROVOD_COMPAT=1"), std::string::npos) << error;
  EXPECT_FALSE(read({{"HOROVOD_AUTOTUNE", "true"}, {"HOROVOD_COMPAT", "1"}}).autotune);
  EXPECT_TRUE(read({{"HOROVOD_AUTOTUNE", "1yes"}, {"HOROVOD_COMPAT", "1"}}).autotune);
  EXPECT_NE(error_of({{"HOROVOD_AUTOTUNE", "1yes"}}).find("reads on from it"), std::string::npos);

  EXPECT_NE(error_of({{"HOROVOD_FUSION_THRESHOLD", "64M"}}).find("would read 64 from it"), std::string::npos);
  EXPECT_EQ(read({{"HOROVOD_FUSION_THRESHOLD", "64M"}, {"HOROVOD_COMPAT", "1"}}).fusion_threshold, std::size_t{64});
  EXPECT_NE(error_of({{"HOROVOD_CYCLE_TIME", "5ms"}}).find("without a unit"), std::string::npos);
  EXPECT_NE(error_of({{"HOROVOD_COMPAT", "true"}}).find("HOROVOD_COMPAT=true"), std::string::npos);
}

TEST(HorovodSettings, BadValuesAreErrorsThatNameThem) {
  const std::vector<std::pair<Variables, std::string>> rows = {
      {{{"HOROVOD_CYCLE_TIME", "-1"}}, "HOROVOD_CYCLE_TIME=-1"},
      {{{"HOROVOD_CYCLE_TIME", "nan"}}, "HOROVOD_CYCLE_TIME=nan"},
      {{{"HOROVOD_CYCLE_TIME", "1e30"}}, "too large"},
      {{{"HOROVOD_CACHE_CAPACITY", "99999999999"}}, "out of range"},
      {{{"HOROVOD_CACHE_CAPACITY", "99999999999999999999"}}, "HOROVOD_CACHE_CAPACITY="},
      {{{"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "0"}}, "out of range"},
      {{{"HOROVOD_THREAD_AFFINITY", "1,,2"}}, "list of core numbers"},
      {{{"HOROVOD_THREAD_AFFINITY", "1,"}}, "list of core numbers"},
  };
  for (const auto& [variables, expected] : rows) {
    const std::string error = error_of(variables);
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
  // With upstream's reading no number is an error, and none overflows.
  EXPECT_EQ(read({{"HOROVOD_COMPAT", "1"}, {"HOROVOD_CYCLE_TIME", "nan"}}).cycle_time, std::chrono::nanoseconds(0));
  EXPECT_EQ(read({{"HOROVOD_COMPAT", "1"}, {"HOROVOD_FUSION_THRESHOLD", "-5"}}).fusion_threshold, std::size_t{0});
}

TEST(HorovodSettings, TheListShowsValuesErrorsAndReasons) {
  const auto lines = list_horovod_variables(in({{"HOROVOD_AUTOTUNE", "true"},
                                                {"HOROVOD_CPU_OPERATIONS", "CCL"},
                                                {"HOROVOD_CONTROLLER", "smoke"},
                                                {"HOROVOD_CYCLE_TIME", "2"},
                                                {"_HOROVOD_SECRET_KEY", "abc"}}));
  const auto line = [&](std::string_view name) {
    const auto found = std::ranges::find(lines, name, [](const HorovodListing& one) { return one.variable->name; });
    EXPECT_NE(found, lines.end()) << name;
    return *found;
  };
  EXPECT_EQ(lines.size(), horovod_variables().size());
  EXPECT_NE(line("HOROVOD_AUTOTUNE").note.find("is a word"), std::string::npos);
  EXPECT_NE(line("HOROVOD_CPU_OPERATIONS").note.find("horovod:ccl"), std::string::npos);
  EXPECT_NE(line("HOROVOD_CONTROLLER").note.find("is unknown"), std::string::npos);
  EXPECT_EQ(line("HOROVOD_CYCLE_TIME").value, "2");
  EXPECT_TRUE(line("HOROVOD_CYCLE_TIME").is_set && line("HOROVOD_CYCLE_TIME").note.empty());
  EXPECT_EQ(line("_HOROVOD_SECRET_KEY").value, "(set)");
  EXPECT_EQ(line("HOROVOD_FUSION_THRESHOLD").value, "134217728");
  EXPECT_FALSE(line("HOROVOD_FUSION_THRESHOLD").is_set);
}

TEST(HorovodSettings, TheTableIsInOrderAndItsRowsAreWhole) {
  std::string_view before;
  for (const HorovodVariable& variable : horovod_variables()) {
    EXPECT_LT(before, variable.name);
    before = variable.name;
    EXPECT_FALSE(variable.help.empty()) << variable.name;
    EXPECT_EQ(variable.is_honoured, !variable.help.starts_with("Has no effect: ")) << variable.name;
    if (variable.default_value.empty()) continue;
    EXPECT_NO_THROW(check_horovod_value(variable, variable.default_value, false)) << variable.name;
  }
}

TEST(HorovodSettings, MisspeltNamesAreFound) {
  EXPECT_EQ(unknown_horovod_variables({"HOROVOD_CYCLE_TIME", "HOROVOD_CYCLETIME", "PATH"}),
            (std::vector<std::string>{"HOROVOD_CYCLETIME"}));
}

}  // namespace
}  // namespace tutti::horovod
