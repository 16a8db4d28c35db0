#include "command_lists.hpp"

#include <new>

namespace tutti::profiling::ze {

void CommandLists::create(ze_command_list_handle_t list, ze_context_handle_t context, ze_device_handle_t device,
                          bool is_immediate) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    lists_.insert_or_assign(list, List{context, device, is_immediate, {}});
  } catch (const std::bad_alloc&) {
    return;
  }
}

void CommandLists::destroy(ze_command_list_handle_t list) noexcept {
  const std::scoped_lock lock(mutex_);
  lists_.erase(list);
}

void CommandLists::reset(ze_command_list_handle_t list) noexcept {
  const std::scoped_lock lock(mutex_);
  if (const auto found = lists_.find(list); found != lists_.end()) found->second.commands.clear();
}

ze_context_handle_t CommandLists::context_of(ze_command_list_handle_t list) const noexcept {
  const std::scoped_lock lock(mutex_);
  const List* found = find(list);
  return found == nullptr ? nullptr : found->context;
}

ze_device_handle_t CommandLists::device_of(ze_command_list_handle_t list) const noexcept {
  const std::scoped_lock lock(mutex_);
  const List* found = find(list);
  return found == nullptr ? nullptr : found->device;
}

bool CommandLists::is_immediate(ze_command_list_handle_t list) const noexcept {
  const std::scoped_lock lock(mutex_);
  const List* found = find(list);
  return found == nullptr || found->is_immediate;
}

bool CommandLists::append(ze_command_list_handle_t list, const ListedCommand& command) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    const auto found = lists_.find(list);
    if (found == lists_.end() || found->second.is_immediate) return true;
    found->second.commands.push_back(command);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

std::vector<ListedCommand> CommandLists::commands_of(ze_command_list_handle_t list) const noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    const auto found = lists_.find(list);
    if (found != lists_.end()) return found->second.commands;
  } catch (const std::bad_alloc&) {
  }
  return {};
}

}  // namespace tutti::profiling::ze
