#include "settings/settings.hpp"

#include <array>
#include <map>
#include <mutex>

#include "tutti/error.hpp"

namespace tutti {
namespace {

// Every variable of the core library. Backend modules bring their own rows.
constexpr std::array kSettings = {
    Setting{
        .name = "TUTTI_BACKEND", .default_value = "auto", .help = "The backend to use, or auto to let tutti choose."},
    Setting{.name = "TUTTI_DEVICE",
            .default_value = "auto",
            .help =
                "The device of each rank: MODULE:INDEX or MODULE:INDEX.SUB, a list of these to be dealt out by "
                "local rank, host, or MODULE to spread the ranks over its devices by locality; auto: the GPUs where "
                "there are any."},
    Setting{.name = "TUTTI_STRICT",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "Makes emulation of a missing operation, fallback to another backend and copies of device memory "
                    "through the host an error."},
    Setting{.name = "TUTTI_REPRODUCIBLE",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "Gives floating reductions the same bits on every backend. Free on native; the others gather all "
                    "contributions and combine them on each rank, which moves as many times the data as there are "
                    "ranks. The same on all ranks."},
    Setting{.name = "TUTTI_PROGRESS_THREAD",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "Carries out asynchronous collectives on a thread of the communicator's, so that they go on while "
                    "the program computes. Pays where cores are free; costs a hand-over per operation."},
    Setting{
        .name = "TUTTI_CHECK",
        .default_value = "0",
        .kind = SettingKind::flag,
        .help = "Compares what the ranks call before every collective, on any backend; costs an exchange of 32 bytes."},
    Setting{.name = "TUTTI_TIMEOUT",
            .default_value = "",
            .kind = SettingKind::duration,
            .help = "The deadline of every operation; unset: the backend's own default."},
    Setting{.name = "TUTTI_RENDEZVOUS_TIMEOUT",
            .default_value = "5min",
            .kind = SettingKind::duration,
            .help = "How long ranks wait for each other while they set up; 0: for ever."},
    Setting{.name = "TUTTI_MODULE_PATH",
            .default_value = "",
            .help = "Directories, separated by colons, that are searched first for backend modules."},
    Setting{.name = "TUTTI_JOB_SECRET",
            .default_value = "",
            .help = "What the ranks of a job prove to each other that they know; the same random text on all of them.",
            .secret = true},
    Setting{.name = "TUTTI_JOB_SECRET_FILE",
            .default_value = "",
            .help = "A file that holds the job's secret; read when TUTTI_JOB_SECRET is not set."},
    Setting{.name = "TUTTI_STORE",
            .default_value = "",
            .help = "The address of the job's store, tcp:HOST:PORT or unix:NAME; set by tutti run."},
};

struct Registry {
  std::mutex mutex;
  std::map<std::string_view, SettingRow> rows;

  Registry() {
    for (const Setting& row : kSettings) add(row);
  }

  void add(const Setting& row) { rows.try_emplace(row.name, SettingRow{row, std::string(row.default_value)}); }
};

Registry& registry() {
  // Never destroyed: a Config in a static object may be asked during exit.
  static Registry* instance = new Registry;
  return *instance;
}

}  // namespace

void register_settings(std::span<const Setting> rows) {
  Registry& table = registry();
  const std::lock_guard lock(table.mutex);
  for (const Setting& row : rows) {
    const auto known = table.rows.find(row.name);
    if (known != table.rows.end() && known->second.setting != row) {
      throw Error(ErrorCode::config, "two parts of tutti define the setting " + std::string(row.name) + " differently");
    }
    check_setting(row, row.default_value);
  }
  for (const Setting& row : rows) table.add(row);
}

const SettingRow* find_setting(std::string_view name) {
  Registry& table = registry();
  const std::lock_guard lock(table.mutex);
  const auto row = table.rows.find(name);
  return row == table.rows.end() ? nullptr : &row->second;
}

std::vector<Setting> all_settings() {
  Registry& table = registry();
  const std::lock_guard lock(table.mutex);
  std::vector<Setting> all;
  all.reserve(table.rows.size());
  for (const auto& [name, row] : table.rows) all.push_back(row.setting);
  return all;
}

}  // namespace tutti
