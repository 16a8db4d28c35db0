#include "cuda_context.hpp"

namespace tutti::cuda_device {

Contexts::Contexts(const Api& api, int devices) : api_(api) {
  for (int i = 0; i < devices; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    api_.call(&Api::device_get, &slots_.back()->handle, i);
  }
}

CUcontext Contexts::primary(int device) {
  Slot& slot = *slots_[static_cast<std::size_t>(device)];
  if (CUcontext known = slot.context.load(std::memory_order_acquire)) return known;
  const std::scoped_lock lock(mutex_);
  CUcontext context = slot.context.load(std::memory_order_relaxed);
  if (context == nullptr) {
    api_.call(&Api::primary_ctx_retain, &context, slot.handle);
    // Release: a thread that sees the pointer sees the driver's writes behind it.
    slot.context.store(context, std::memory_order_release);
  }
  return context;
}

int Contexts::device_of(CUcontext context) {
  CUdevice handle = 0;
  CUcontext popped = nullptr;
  api_.call(&Api::ctx_push_current, context);
  const CUresult result = api_.ctx_get_device(&handle);
  api_.call(&Api::ctx_pop_current, &popped);
  if (result != CUDA_SUCCESS) return -1;
  for (int i = 0; i < devices(); ++i) {
    if (slots_[static_cast<std::size_t>(i)]->handle == handle) return primary(i) == context ? i : -1;
  }
  return -1;
}

ContextScope::ContextScope(const Api& api, Contexts& contexts, int device) : api_(api) {
  CUcontext wanted = contexts.primary(device);
  CUcontext current = nullptr;
  api_.call(&Api::ctx_get_current, &current);
  if (current == wanted) return;
  api_.call(&Api::ctx_push_current, wanted);
  is_pushed_ = true;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (is_pushed_) (void)api_.ctx_pop_current(&popped);
}

}  // namespace tutti::cuda_device
