#include "autotune/kept_result.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {
namespace {

constexpr const char* kVariable = "TUTTI_HOROVOD_TUNED";

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

TunedEngine to_entry(const TuningResult& result, const std::string& spec, int ranks) {
  TunedEngine entry{.spec = spec, .ranks = ranks, .values = {}};
  std::istringstream lines(to_text(result));
  std::string line;
  std::getline(lines, line);  // the head of a file
  while (std::getline(lines, line)) {
    const std::size_t blank = line.find(' ');
    entry.values.emplace_back(line.substr(0, blank), line.substr(blank + 1));
  }
  return entry;
}

TuningResult from_entry(const TunedEngine& entry) {
  std::string text = std::string(kTuningHead) + '\n';
  for (const auto& [key, value] : entry.values) text.append(key).append(" ").append(value).append("\n");
  return tuning_from_text(text, "tuning file, engine " + entry.spec);
}

KeptResult::KeptResult(const Config& config, std::string spec, int ranks)
    : config_(config), path_(config.text(kVariable)), spec_(std::move(spec)), ranks_(ranks) {}

std::optional<TuningResult> KeptResult::load() const {
  if (!is_in_tuning_file()) return load_tuning(path_);
  // The bits of results must not depend on a file.
  if (config_.flag("TUTTI_REPRODUCIBLE")) return std::nullopt;
  const LoadedTuning loaded = tutti::load_tuning(config_);
  const TunedEngine* entry = loaded.table ? loaded.table->find_engine(spec_, ranks_) : nullptr;
  if (entry == nullptr) return std::nullopt;
  try {
    return from_entry(*entry);
  } catch (const Error&) {
    return std::nullopt;  // as with other tuning files: they end no job
  }
}

std::string KeptResult::tuning_path() const {
  const std::string& given = config_.text("TUTTI_TUNING");
  return given.empty() ? user_tuning_path() : given;
}

void KeptResult::check_writable() const {
  if (path_ != "tuning") return;
  const std::string path = tuning_path();
  const auto refuse = [](const std::string& reason) {
    throw Error(ErrorCode::config, std::string(kVariable) + "=tuning: the result of autotune cannot be kept: " + reason,
                "horovod");
  };
  if (path == "none") refuse("TUTTI_TUNING=none");
  if (path.empty()) refuse("there is no home folder for the tuning file; set TUTTI_TUNING");
  std::error_code error;
  const LoadedTuning loaded = tutti::load_tuning(config_);
  if (std::filesystem::exists(path, error) && loaded.path != path) refuse(loaded.notice);
}

void KeptResult::save(const TuningResult& result) const {
  if (path_.empty()) return;
  if (path_ != "tuning") return save_tuning(path_, result);
  TuningTable fresh;
  fresh.tutti = version();
  fresh.machine = this_tuning_machine();
  fresh.host = host_name();
  TuningTable table = tutti::load_tuning(config_).table.value_or(std::move(fresh));
  std::erase_if(table.engines, [&](const TunedEngine& entry) { return entry.spec == spec_ && entry.ranks == ranks_; });
  table.engines.push_back(to_entry(result, spec_, ranks_));
  const std::filesystem::path path = tuning_path();
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  replace_file(path, tutti::to_text(table));
}

}  // namespace tutti::horovod
