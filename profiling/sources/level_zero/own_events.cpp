#include "own_events.hpp"

#include <new>

namespace tutti::profiling::ze {

ze_event_handle_t OwnEvents::take(ze_context_handle_t context, bool may_grow) noexcept {
  if (context == nullptr || !loader_.makes_events()) return nullptr;
  try {
    const std::scoped_lock lock(mutex_);
    Context& own = contexts_[context];
    if (own.free.empty() && may_grow && own.pools.size() < kMostPools) add_pool(context, own);
    if (own.free.empty()) return nullptr;
    const ze_event_handle_t event = own.free.back();
    own.free.pop_back();
    return event;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void OwnEvents::add_pool(ze_context_handle_t handle, Context& context) {
  context.pools.reserve(context.pools.size() + 1);
  context.all.reserve(context.all.size() + kPoolEvents);
  context.free.reserve(context.all.size() + kPoolEvents);
  owners_.reserve(owners_.size() + kPoolEvents);
  const OwnCall own;
  ze_event_pool_desc_t pool_description = {};
  pool_description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool_description.flags = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool_description.count = kPoolEvents;
  ze_event_pool_handle_t pool = nullptr;
  if (loader_.event_pool_create(handle, &pool_description, 0, nullptr, &pool) != ZE_RESULT_SUCCESS) return;
  context.pools.push_back(pool);
  for (std::uint32_t i = 0; i < kPoolEvents; ++i) {
    ze_event_desc_t description = {};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    description.index = i;
    description.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t event = nullptr;
    if (loader_.event_create(pool, &description, &event) != ZE_RESULT_SUCCESS) return;
    context.all.push_back(event);
    owners_[event] = handle;
    context.free.push_back(event);
  }
}

void OwnEvents::reset(ze_event_handle_t event) noexcept {
  const OwnCall own;
  (void)loader_.event_host_reset(event);
}

void OwnEvents::give_back(ze_event_handle_t event) noexcept {
  reset(event);
  const std::scoped_lock lock(mutex_);
  const auto owner = owners_.find(event);
  if (owner == owners_.end()) return;              // of a context that the program has destroyed
  contexts_[owner->second].free.push_back(event);  // there is room: the list has had it before
}

void OwnEvents::forget(ze_context_handle_t context) noexcept {
  const OwnCall own;
  const std::scoped_lock lock(mutex_);
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return;
  for (const ze_event_handle_t event : found->second.all) {
    (void)loader_.event_destroy(event);
    owners_.erase(event);
  }
  for (const ze_event_pool_handle_t pool : found->second.pools) (void)loader_.event_pool_destroy(pool);
  contexts_.erase(found);
}

}  // namespace tutti::profiling::ze
