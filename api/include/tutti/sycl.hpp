#pragma once

#include <sycl/sycl.hpp>

#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/buffer.hpp"

/// Interoperability with SYCL applications. Header-only, needs sycl.hpp; libtutti itself is not built with SYCL. The
/// application and tutti's SYCL module must use the same libsycl.
namespace tutti::sycl {

/// Stream of an in-order or out-of-order queue. An operation on it runs after everything submitted to the queue before
/// and before everything submitted later, for both kinds of queue; the call returns immediately. Buffers are USM of the
/// queue's context. The queue object must not be moved or destroyed while a call uses the stream; afterwards it may be.
///
/// Throws Error{backend_unavailable} if tutti's SYCL module is missing or not usable.
[[nodiscard]] inline Stream stream(::sycl::queue& queue) { return adopt_stream("sycl", &queue); }

/// The SYCL device that `device` ("sycl:0", "sycl:0.1") names. Throws Error{config} if it belongs to another module.
[[nodiscard]] inline ::sycl::device device(Device device) {
  return *static_cast<const ::sycl::device*>(spi::native_device(device, "sycl"));
}

}  // namespace tutti::sycl
