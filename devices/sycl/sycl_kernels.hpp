#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <sycl/sycl.hpp>
#include <vector>

#include "tutti/spi/device.hpp"

namespace tutti::sycl_device {

/// The reduction kernels. The kernels of one type are built together, for a device and context, when one of them is
/// first needed; that takes about a second. They are kept.
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
    /// One object for each reduction. Until a kernel is launched, its arguments are in state that all objects of its
    /// name share, but the runtime locks only the object: with two objects, threads would mix up their arguments.
    std::map<Reduction, ::sycl::kernel> kernels;
  };
  [[nodiscard]] ::sycl::kernel kernel(const ::sycl::queue& queue, Reduction reduction, DataType type);

  std::mutex mutex_;
  std::vector<Built> built_;
};

}  // namespace tutti::sycl_device
