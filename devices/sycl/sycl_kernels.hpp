#pragma once

#include <memory>
#include <mutex>
#include <sycl/sycl.hpp>
#include <vector>

#include "tutti/spi/device.hpp"

namespace tutti::sycl_device {

/// The reduction kernels. Those of one type are built together, for a device and context, when one is first needed;
/// that takes about a second and is then remembered.
class Kernels {
 public:
  [[nodiscard]] static bool can_reduce(const Stream& stream, DataType type);
  [[nodiscard]] std::unique_ptr<spi::DeviceEvent> reduce(const Stream& stream, const spi::DeviceReduction& reduction);

 private:
  using Bundle = ::sycl::kernel_bundle<::sycl::bundle_state::executable>;
  struct Built {
    ::sycl::context context;
    ::sycl::device device;
    DataType type;
    Bundle bundle;
  };
  [[nodiscard]] ::sycl::kernel kernel(const ::sycl::queue& queue, Reduction reduction, DataType type);

  std::mutex mutex_;
  std::vector<Built> built_;
};

}  // namespace tutti::sycl_device
