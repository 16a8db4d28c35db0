#include "sweep/plan/sweep_resume.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "analysis/statistics.hpp"
#include "results/results_json.hpp"
#include "sweep/plan/sweep_options.hpp"
#include "sweep/show/sweep_titles.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct ResumedSetting {
  std::string_view name;
  bool is_condition;  ///< times measured with different values are not comparable
};

// Other settings of the file, such as a remark about another sweep, belong to its own run.
constexpr std::array<ResumedSetting, 13> kResumed = {{{"ops", false},
                                                      {"sizes", false},
                                                      {"ranks", false},
                                                      {"in-place", false},
                                                      {"backends", false},
                                                      {"runs", false},
                                                      {"seed", false},
                                                      {"dtype", true},
                                                      {"device", true},
                                                      {"concurrent", true},
                                                      {"compute", true},
                                                      {"iterations", true},
                                                      {"seconds-per-cell", true}}};

std::string_view name_of(std::string_view setting) { return setting.substr(0, setting.find('=')); }

bool is_resumed(std::string_view name) {
  return std::ranges::find(kResumed, name, &ResumedSetting::name) != kResumed.end();
}

/// Names of the settings of tutti that the environment had in either sweep.
std::set<std::string> environment_settings(const SweepResults& earlier, const SweepResults& now) {
  std::set<std::string> names;
  for (const SweepResults* results : {&earlier, &now}) {
    for (const std::string& setting : results->head.settings) {
      if (setting.starts_with("TUTTI_")) names.emplace(name_of(setting));
    }
  }
  return names;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-3 * std::max(std::abs(a), std::abs(b)); }

std::string contradiction(const SweepRow& row) {
  if (!is_sweepable(row.cell.op)) return concat("a sweep does not measure ", name(row.cell.op));
  if (const std::uint64_t bytes = CellShape(row.cell, row.type, row.ranks).message_bytes(); bytes != row.bytes)
    return concat("\"bytes\" is ", row.bytes, " where \"requested_bytes\" gives ", bytes);
  if (!row.ok()) return {};
  if (!row.run_medians_us.empty() && !close(median(row.run_medians_us), row.time_us_p50))
    return "\"time_us_p50\" is not the median of \"run_medians_us\"";
  if (row.algbw_gbs > 0 && !close(static_cast<double>(row.bytes) / (row.time_us_p50 * 1e3), row.algbw_gbs))
    return "\"algbw_gbs\" is not \"bytes\" by \"time_us_p50\"";
  if (row.time_us_min > row.time_us_p50) return "\"time_us_min\" is above \"time_us_p50\"";
  return {};
}

}  // namespace

SweepResults resume_from(const std::string& path, CLI::App& command) {
  SweepResults results;
  try {
    results = read_results(path);
  } catch (const Error& error) {
    throw UsageError(concat("--resume: ", error.what()));
  }
  require_consistent(path, results);
  if (setting_value(results.head.settings, "seconds-per-cell").empty()) {
    throw UsageError(concat("--resume: ", path,
                            ": the file does not tell the settings of its sweep, as files of tutti before version 2 of "
                            "the format do not; measure again with --json"));
  }
  std::vector<std::string> settings = results.head.settings;
  std::erase_if(settings, [](const std::string& setting) { return !is_resumed(name_of(setting)); });
  try {
    apply_settings(command, settings);
  } catch (const UsageError& error) {
    throw UsageError(concat("--resume: ", path, ": ", error.what()));
  }
  std::erase_if(results.rows, [](const SweepRow& row) { return !row.ok(); });
  return results;
}

void require_same_conditions(const std::string& path, const SweepResults& earlier, const SweepResults& now) {
  std::string differences;
  const auto compare = [&](std::string_view what, const std::string& then, const std::string& today) {
    if (then != today)
      differences += concat("\n  ", what, ": ", then.empty() ? "none" : then, " in the file, ",
                            today.empty() ? "none" : today, " now");
  };
  compare("version of tutti", earlier.head.tutti, now.head.tutti);
  compare("host", earlier.head.hostname, now.head.hostname);
  compare("processor", earlier.machine, now.machine);
  for (const ResumedSetting& setting : kResumed) {
    if (setting.is_condition)
      compare(concat("--", setting.name), setting_value(earlier.head.settings, setting.name),
              setting_value(now.head.settings, setting.name));
  }
  for (const std::string& name : environment_settings(earlier, now))
    compare(name, setting_value(earlier.head.settings, name), setting_value(now.head.settings, name));
  for (const BackendSetup& backend : earlier.backends) {
    const auto found = std::ranges::find(now.backends, backend.backend, &BackendSetup::backend);
    if (found != now.backends.end()) compare("version of " + backend.backend, backend.version, found->version);
  }
  if (differences.empty()) return;
  throw UsageError(concat("--resume: the sweep in ", path,
                          " was made under other conditions, so that its times cannot stand beside new ones; measure "
                          "again into another file, or use the conditions of the file:",
                          differences));
}

void continue_from(SweepResults& results, SweepResults earlier) {
  for (const OpKind op : earlier.ops) {
    if (std::ranges::find(results.ops, op) == results.ops.end()) results.ops.push_back(op);
  }
  results.sizes.insert(results.sizes.end(), earlier.sizes.begin(), earlier.sizes.end());
  std::ranges::sort(results.sizes);
  results.sizes.erase(std::ranges::unique(results.sizes).begin(), results.sizes.end());
  for (BackendSetup& backend : earlier.backends) {
    if (std::ranges::find(results.backends, backend.backend, &BackendSetup::backend) == results.backends.end())
      results.backends.push_back(std::move(backend));
  }
  results.rows = std::move(earlier.rows);
}

void require_consistent(const std::string& path, const SweepResults& results) {
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    if (const std::string problem = contradiction(results.rows[i]); !problem.empty()) {
      throw UsageError(concat("--resume: ", path, ": rows[", i, "]: ", problem,
                              "; the file was changed by hand; restore it or measure again"));
    }
  }
}

}  // namespace tutti::tools
