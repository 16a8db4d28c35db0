#include "command_lists.hpp"

#include <new>

namespace tutti::profiling::ze {

void CommandLists::create(ze_command_list_handle_t list, ze_device_handle_t device, bool is_immediate) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    lists_.insert_or_assign(list, List{device, is_immediate, {}});
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

ze_device_handle_t CommandLists::device_of(ze_command_list_handle_t list) const noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = lists_.find(list);
  return found == lists_.end() ? nullptr : found->second.device;
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
