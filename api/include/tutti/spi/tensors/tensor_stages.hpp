#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tutti/export.hpp"
#include "tutti/types/data_type.hpp"

namespace tutti::spi {

/// A stage of a tensor that was submitted by name, on this rank. The stages of a tensor follow each other, except that
/// the one of its operation ("ALLREDUCE") has others in it.
struct TensorStage {
  std::string_view tensor;     ///< its name; this and the other texts are valid during the call only
  std::string_view stage;      ///< "QUEUE", "NEGOTIATE_ALLREDUCE", "ALLREDUCE", "MEMCPY_IN_FUSION_BUFFER", ...
  std::string_view operation;  ///< "allreduce"
  std::string_view backend;    ///< the engine's inner backend
  DataType type = DataType::uint8;
  std::uint64_t bytes = 0;  ///< of the tensor
  std::uint32_t ranks = 0;
  std::uint64_t begin_ns = 0;  ///< in the clock of observer_time_ns()
  std::uint64_t end_ns = 0;
};

/// Receives the stages of all engines of the process, from any thread. Apart from Observer, because an engine measures
/// stages only while somebody wants them. Implementations return quickly, throw nothing and call no operation.
class TUTTI_API TensorStageObserver {
 public:
  virtual void on(const TensorStage& stage) noexcept = 0;

 protected:
  ~TensorStageObserver() = default;
};

namespace detail {
TUTTI_API extern std::atomic<TensorStageObserver*> tensor_stage_observer;
}  // namespace detail

/// The observer of this process, or null.
[[nodiscard]] inline TensorStageObserver* tensor_stage_observer() noexcept {
  return detail::tensor_stage_observer.load(std::memory_order_acquire);
}

/// Replaces it; null: nobody. Stages that are being told now may still reach the previous one, which must therefore
/// live until the end of the process.
TUTTI_API void set_tensor_stage_observer(TensorStageObserver* observer) noexcept;

}  // namespace tutti::spi
