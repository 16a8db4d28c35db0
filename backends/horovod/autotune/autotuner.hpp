#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/kept_result.hpp"
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
    std::vector<std::string> inner_backends;  ///< to choose among; the first one is that of the beginning
    std::optional<KeptResult> kept;           ///< to which the best values are written in the end
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

/// The parameters of a result; those of `settings` that the user has set stay, and so does `partition`, if it is given.
/// `inner_backends`: those that the ranks can use, the first one where the result names another.
[[nodiscard]] Parameters parameters_of(const TuningResult& result, const HorovodSettings& settings,
                                       std::optional<std::uint64_t> partition,
                                       std::span<const std::string> inner_backends);

}  // namespace tutti::horovod
