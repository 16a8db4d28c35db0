// Memory and its registration in NCCL's interface.
#include <cstdint>
#include <memory>
#include <utility>

#include "nccl_comm.hpp"
#include "nccl_error.hpp"
#include "tutti/allocate.hpp"
#include "tutti/share.hpp"

namespace tutti::nccl_adapter {
namespace {

/// A registered buffer. Memory of the host is shared with the other ranks where that is possible; registration is a
/// hint, so other memory is used as it is.
struct Registration {
  void* data = nullptr;
  SharedRegion region = {};
};

constexpr std::uintptr_t kPage = 4096;

std::unique_ptr<Registration> register_memory(ncclComm_t comm, void* data, std::size_t bytes) {
  (void)ncclComm::of(comm);
  if (data == nullptr && bytes > 0) refuse_argument("the buffer is a null pointer");
  auto registration = std::make_unique<Registration>();
  registration->data = data;
  if (bytes == 0 || reinterpret_cast<std::uintptr_t>(data) % kPage != 0 || bytes % kPage != 0) return registration;
  try {
    registration->region = share(data, bytes);
  } catch (const Error&) {  // NOLINT: not memory of the host, or shared already
  }
  return registration;
}

}  // namespace
}  // namespace tutti::nccl_adapter

using namespace tutti;
using namespace tutti::nccl_adapter;

extern "C" {

ncclResult_t ncclMemAlloc(void** data, size_t bytes) {
  return guarded([&] {
    if (data == nullptr) refuse_argument("the place for the address is a null pointer");
    *data = bytes == 0 ? nullptr : detail::allocate_shared(bytes);
  });
}

ncclResult_t ncclMemFree(void* data) {
  if (data != nullptr) detail::free_shared(data);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* data, size_t bytes, void** handle) {
  return guarded([&] {
    if (handle == nullptr) refuse_argument("the place for the handle is a null pointer");
    *handle = register_memory(comm, data, bytes).release();
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return guarded([&] {
    (void)ncclComm::of(comm);
    delete static_cast<Registration*>(handle);
  });
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* data, size_t bytes, ncclWindow_t* window, int /*flags*/) {
  return guarded([&] {
    if (window == nullptr) refuse_argument("the place for the window is a null pointer");
    *window = reinterpret_cast<ncclWindow_t>(register_memory(comm, data, bytes).release());  // NOLINT: opaque
  });
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) { return ncclCommDeregister(comm, window); }

ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void** data) {
  return guarded([&] {
    (void)ncclComm::of(comm);
    if (window == nullptr || data == nullptr)
      refuse_argument("the window or the place for the address is a null pointer");
    *data = reinterpret_cast<const Registration*>(window)->data;  // NOLINT: see ncclCommWindowRegister()
  });
}

}  // extern "C"
