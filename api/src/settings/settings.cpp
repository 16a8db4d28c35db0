#include "settings/settings.hpp"

#include <array>
#include <map>
#include <mutex>

#include "tutti/error.hpp"

namespace tutti {
namespace {

// All variables of the core library. Modules register their own rows.
constexpr std::array kSettings = {
    Setting{
        .name = "TUTTI_BACKEND", .default_value = "auto", .help = "The backend to use, or auto to let tutti choose."},
    Setting{.name = "TUTTI_TUNING",
            .default_value = "",
            .help =
                "Tuning file that auto chooses backends by, or none; unset: the user's file, else the system's, see "
                "docs/tuning.md."},
    Setting{.name = "TUTTI_PIN",
            .default_value = "",
            .help = "Backends that auto takes for operations and sizes whatever the tuning file says: "
                    "OPERATION[:SIZE|:FROM-|:FROM-TO]=BACKEND, separated by commas, e.g. allreduce:1M-8M=ccl.",
            .common = true},
    Setting{
        .name = "TUTTI_DEVICE",
        .default_value = "auto",
        .help =
            "The device of each rank: host, MODULE:INDEX or MODULE:INDEX.SUB; a comma-separated list of these assigns "
            "them by local rank. MODULE spreads the ranks over its devices by NUMA locality. auto: the GPUs if there "
            "are any, else the host."},
    Setting{.name = "TUTTI_STRICT",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help =
                "Reports an error instead of emulating a missing operation, falling back to another backend or copying "
                "device memory through the host.",
            .common = true},
    Setting{.name = "TUTTI_REPRODUCIBLE",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "Makes floating-point reductions bitwise identical on all backends. Costs nothing on native; "
                    "other backends gather all contributions and combine them on each rank, which multiplies the data "
                    "moved by the number of ranks.",
            .common = true},
    Setting{.name = "TUTTI_PROGRESS_THREAD",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "Runs asynchronous collectives on a thread of the communicator, so that they progress while the "
                    "program computes. Useful if cores are idle; costs a hand-over to the thread per operation.",
            .common = true},
    Setting{.name = "TUTTI_CHECK",
            .default_value = "0",
            .kind = SettingKind::choice,
            .help = "1: checks before every collective that the calls of all ranks match, on any backend; costs an "
                    "exchange of 32 bytes. auto: native compares all calls; on other backends the ranks of a host look "
                    "at each other's last call. 0: native only.",
            .choices = "auto|0|1|false|true|no|yes|off|on",
            .common = true},
    Setting{.name = "TUTTI_TIMEOUT",
            .default_value = "",
            .kind = SettingKind::duration,
            .help = "Timeout of every operation; unset: 10 minutes, 0: none.",
            .common = true},
    Setting{.name = "TUTTI_ON_HANG",
            .default_value = "error",
            .kind = SettingKind::choice,
            .help = "Reaction of backends whose library cannot be given a timeout, when an operation takes longer than "
                    "TUTTI_TIMEOUT: the call fails (error), a line on standard error names the late ranks (report), "
                    "or the process is aborted after that line (terminate).",
            .choices = "error|report|terminate"},
    Setting{.name = "TUTTI_RENDEZVOUS_TIMEOUT",
            .default_value = "5min",
            .kind = SettingKind::duration,
            .help = "Time that ranks wait for each other during setup; 0: no limit."},
    Setting{.name = "TUTTI_MODULE_PATH",
            .default_value = "",
            .help = "Colon-separated directories that are searched first for modules."},
    Setting{.name = "TUTTI_OBSERVERS",
            .default_value = "",
            .help = "Comma-separated names of observer modules that are started with the first communicator; a module "
                    "that cannot be used is passed over, see tutti info."},
    Setting{.name = "TUTTI_RECORD",
            .default_value = "",
            .help = "Folder in which the observer module \"record\" writes what each rank communicates; set by tutti "
                    "record."},
    Setting{.name = "TUTTI_PRELOAD",
            .default_value = "1",
            .kind = SettingKind::flag,
            .help = "0: preloaded adapters pass every call of the program to its own library.",
            .common = true},
    Setting{.name = "TUTTI_PRELOAD_OPS",
            .default_value = "auto",
            .help = "Operations of a program that preloaded adapters carry out, with commas (allreduce,broadcast), or "
                    "all, or auto: those that gain.",
            .common = true},
    Setting{.name = "TUTTI_PRELOAD_MIN",
            .default_value = "auto",
            .help = "Size from which preloaded adapters carry out an operation of a program: 64K; auto: by the tuning "
                    "file, else built-in sizes.",
            .common = true},
    Setting{.name = "TUTTI_PRELOAD_AFTER",
            .default_value = "2",
            .kind = SettingKind::integer,
            .help = "Number of suitable calls on a communicator that preloaded adapters leave to the program's own "
                    "library before they make one of tutti for its ranks.",
            .common = true},
    Setting{.name = "TUTTI_PRELOAD_SHARE",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "1: large blocks of memory of a program behind a preloaded adapter are shared by the ranks of a "
                    "host, so that large reductions on them take one pass.",
            .common = true},
    Setting{.name = "TUTTI_SHOW",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "Preloaded adapters print at the end of the program, on rank 0, the calls that tutti carried out, "
                    "those passed on and why, and the time gained.",
            .common = true},
    Setting{.name = "TUTTI_JOB_SECRET",
            .default_value = "",
            .help = "Shared secret that authenticates the ranks of a job; the same random text on all ranks.",
            .secret = true},
    Setting{.name = "TUTTI_JOB_SECRET_FILE",
            .default_value = "",
            .help = "File that holds the job's secret; read if TUTTI_JOB_SECRET is not set."},
    Setting{.name = "TUTTI_JOB_ID",
            .default_value = "",
            .help = "Any text that is the same on all ranks and different for each job; keeps ranks of an earlier job "
                    "out; unset: TORCHELASTIC_RUN_ID."},
    Setting{.name = "TUTTI_STORE",
            .default_value = "",
            .help = "Address of the job's store, tcp:HOST:PORT or unix:NAME; set by tutti run."},
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
  // Never destroyed: a Config in a static object may be read during exit.
  static Registry* instance = new Registry;
  return *instance;
}

}  // namespace

std::span<const Setting> core_settings() noexcept { return kSettings; }

void register_settings(std::span<const Setting> rows) {
  Registry& table = registry();
  const std::lock_guard lock(table.mutex);
  for (const Setting& row : rows) {
    const auto known = table.rows.find(row.name);
    if (known != table.rows.end() && known->second.setting != row) {
      throw Error(ErrorCode::config,
                  "setting " + std::string(row.name) +
                      " is already defined with other properties; the modules are probably of different versions");
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
