#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>

#include "autotune/tuned_values.hpp"

namespace tutti::horovod {

/// Columns of the log.
enum class LogFormat : std::uint8_t {
  upstream,      ///< seven columns of upstream since 0.26, whose rows have a blank before the fourth value
  before_torus,  ///< six columns of upstream before 0.26
  extended,      ///< the seven columns, then partition size and inner backend
};

/// The CSV log of a search. Every row is written at once, so that the log of a job that was killed is complete.
class TuningLog {
 public:
  /// Writes the header. The stream outlives the log.
  TuningLog(std::ostream& out, LogFormat format, std::span<const std::string> inner_backends = {});

  void add(const TunedValues& values, double score);

 private:
  std::ostream& out_;
  LogFormat format_;
  std::span<const std::string> inner_backends_;
};

}  // namespace tutti::horovod
