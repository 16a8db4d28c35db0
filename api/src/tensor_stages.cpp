#include "tutti/spi/tensors/tensor_stages.hpp"

namespace tutti::spi {

namespace detail {
constinit std::atomic<TensorStageObserver*> tensor_stage_observer = nullptr;
}  // namespace detail

void set_tensor_stage_observer(TensorStageObserver* observer) noexcept {
  detail::tensor_stage_observer.store(observer, std::memory_order_release);
}

}  // namespace tutti::spi
