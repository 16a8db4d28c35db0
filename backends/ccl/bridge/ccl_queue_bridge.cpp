// The queue bridge: compiled with oneCCL's and SYCL's headers and linked to both libraries. It is apart from the other
// bridge, which works with any oneCCL, because it works only with a oneCCL that uses the same libsycl.
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
