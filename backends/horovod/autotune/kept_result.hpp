#pragma once

#include <optional>
#include <string>

#include "autotune/tuned_values.hpp"
#include "tutti/config.hpp"
#include "tutti/tuning.hpp"

namespace tutti::horovod {

/// Where the best values of a search are kept for later jobs, as TUTTI_HOROVOD_TUNED says: in a file of their own, or
/// as the entry of this engine and number of ranks in the tuning file. Without the variable the entry of the tuning
/// file is read, and nothing is written. Used by rank 0.
class KeptResult {
 public:
  /// `spec`: of the engine, "horovod:native".
  KeptResult(const Config& config, std::string spec, int ranks);

  /// Nothing if nothing is kept. Throws Error{config} or Error{system} that names a file of its own.
  [[nodiscard]] std::optional<TuningResult> load() const;

  /// Throws Error{config} if the result of a search could not be kept because the tuning file is another machine's or
  /// broken: it would be lost.
  void check_writable() const;
  /// Nothing happens without TUTTI_HOROVOD_TUNED. Throws Error{system} that names the file.
  void save(const TuningResult& result) const;

 private:
  [[nodiscard]] bool is_in_tuning_file() const { return path_.empty() || path_ == "tuning"; }
  [[nodiscard]] std::string tuning_path() const;

  Config config_;
  std::string path_;
  std::string spec_;
  int ranks_;
};

/// The result as the entry of a tuning file, and back. Throws Error{config} for values of another engine.
[[nodiscard]] TunedEngine to_entry(const TuningResult& result, const std::string& spec, int ranks);
[[nodiscard]] TuningResult from_entry(const TunedEngine& entry);

}  // namespace tutti::horovod
