#include "autotune/tuning_log.hpp"

namespace tutti::horovod {

TuningLog::TuningLog(std::ostream& out, LogFormat format, std::span<const std::string> inner_backends)
    : out_(out), format_(format), inner_backends_(inner_backends) {
  out_ << "hierarchical_allreduce,hierarchical_allgather,"
       << (format == LogFormat::before_torus ? "" : "torus_allreduce,")
       << "cache_enabled,cycle_time_ms,tensor_fusion_threshold,"
       << (format == LogFormat::extended ? "partition_mb,inner_backend," : "") << "score" << std::endl;
}

void TuningLog::add(const TunedValues& values, double score) {
  out_ << values.hierarchical_allreduce << ',' << values.hierarchical_allgather << ',';
  if (format_ != LogFormat::before_torus) out_ << values.torus_allreduce << ',';
  // Readers of upstream's log may rely on the blank.
  if (format_ == LogFormat::upstream) out_ << ' ';
  out_ << values.cache_enabled << ',' << values.cycle_time_ms << ',' << values.fusion_threshold_mb << ',';
  if (format_ == LogFormat::extended) {
    const auto index = static_cast<std::size_t>(values.inner_backend);
    out_ << values.partition_mb << ',' << (index < inner_backends_.size() ? inner_backends_[index] : "") << ',';
  }
  out_ << score << std::endl;
}

}  // namespace tutti::horovod
