#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "autotune/parameter_manager.hpp"
#include "autotune/tuning_log.hpp"
#include "negotiation/message.hpp"
#include "settings/horovod_settings.hpp"

namespace tutti::horovod {

/// Tunes the parameters of an engine on its first rank, with the log and the file of results. Not synchronised.
class Autotuner {
 public:
  using Time = ParameterManager::Time;

  struct Options {
    LogFormat log_format = LogFormat::upstream;
    bool watches_workload = false;
    std::uint64_t partition = 0;  ///< in the beginning; bytes
    bool tunes_partition = false;
    std::string result_file;  ///< to which the best values are written in the end; empty: none
  };

  /// Throws Error{system} that names the log if it cannot be written.
  Autotuner(const HorovodSettings& settings, Options options, Time start);

  /// Tells that the tensors of these names, `bytes` in all, have been reduced. Returns new parameters for all ranks.
  [[nodiscard]] std::optional<Parameters> reduced(std::span<const std::string> names, std::uint64_t bytes, Time now);

  /// Ends the search and completes the log and the file of results. Nothing happens if it has ended.
  void finish(Time now) noexcept;

 private:
  [[nodiscard]] Parameters parameters() const;
  void save() noexcept;

  Options options_;
  std::ofstream log_file_;
  std::optional<TuningLog> log_;
  std::optional<ParameterManager> manager_;
};

/// The parameters of a file that an Autotuner has written; those of `settings` that the user has set stay, and so does
/// `partition`, if it is given. Throws Error{config} or Error{system} that names the file.
[[nodiscard]] Parameters load_parameters(const std::string& path, const HorovodSettings& settings,
                                         std::optional<std::uint64_t> partition);

}  // namespace tutti::horovod
