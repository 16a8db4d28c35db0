// The one part that is compiled with oneCCL's and SYCL's headers and linked to both libraries. Apart from the other
// bridge, which fits any oneCCL, since this one fits those that are built with the same libsycl only.
#include <sycl/sycl.hpp>

#include "bridge/ccl_handle.hpp"

namespace tutti::ccl {
namespace {

::sycl::queue& queue_at(void* queue) { return *static_cast<::sycl::queue*>(queue); }

Handle* create(int size, int rank, const Kvs& kvs, void* queue) {
  ::ccl::device device = ::ccl::create_device(queue_at(queue).get_device());
  const ::ccl::context context = ::ccl::create_context(queue_at(queue).get_context());
  return std::make_unique<Handle>(::ccl::create_communicator(size, rank, device, context, kvs.kvs), size).release();
}

void bind(Handle& handle, void* queue) { handle.stream = ::ccl::create_stream(queue_at(queue)); }

constexpr QueueBridge kBridge = {.abi = kBridgeAbi, .create = create, .bind = bind};

}  // namespace
}  // namespace tutti::ccl

extern "C" [[gnu::visibility("default")]] const tutti::ccl::QueueBridge* tutti_ccl_queue_bridge() {
  return &tutti::ccl::kBridge;
}
