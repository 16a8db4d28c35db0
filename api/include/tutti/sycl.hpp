#pragma once

#include <sycl/sycl.hpp>

#include "tutti/buffer.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"

/// For applications that use SYCL themselves. Header-only: include it where sycl.hpp is at hand; libtutti itself is not
/// built with any SYCL. The application and tutti's module must use the same libsycl.
namespace tutti::sycl {

/// The stream of a queue, in-order or not. Operations on it come after everything submitted to the queue before them
/// and before everything submitted later, whatever the kind of queue; the call returns at once. Buffers are USM of the
/// queue's context. The queue object must stay where it is while the stream is used in calls; once a call has returned
/// it may go.
///
/// Throws Error{backend_unavailable} when tutti's module for SYCL is not there or not usable.
[[nodiscard]] inline Stream stream(::sycl::queue& queue) { return adopt_stream("sycl", &queue); }

/// The SYCL device that `device` ("sycl:0", "sycl:0.1") names. Throws Error{config} when it is of another module.
[[nodiscard]] inline ::sycl::device device(Device device) {
  return *static_cast<const ::sycl::device*>(spi::native_device(device, "sycl"));
}

}  // namespace tutti::sycl
