#pragma once

#include <level_zero/ze_api.h>

#include <mutex>
#include <unordered_map>
#include <vector>

#include "event_times.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::ze {

/// A command of a list, with everything that is recorded whenever it is carried out.
struct ListedCommand {
  ze_event_handle_t event = nullptr;  ///< with timestamps; null: none
  DeviceCommand work = {};
  NameId traffic = 0;  ///< 0: moves no memory
  std::uint64_t bytes = 0;
};

/// The command lists of a program. An immediate list carries a command out when it is appended, others carry their
/// commands out each time that a queue executes them. Thread-safe.
class CommandLists {
 public:
  void create(ze_command_list_handle_t list, ze_context_handle_t context, ze_device_handle_t device,
              bool is_immediate) noexcept;
  void destroy(ze_command_list_handle_t list) noexcept;
  void reset(ze_command_list_handle_t list) noexcept;

  /// Null for a list whose creation was not seen.
  [[nodiscard]] ze_context_handle_t context_of(ze_command_list_handle_t list) const noexcept;
  [[nodiscard]] ze_device_handle_t device_of(ze_command_list_handle_t list) const noexcept;
  [[nodiscard]] bool is_immediate(ze_command_list_handle_t list) const noexcept;
  /// Keeps the command for executions. True: it is carried out now.
  [[nodiscard]] bool append(ze_command_list_handle_t list, const ListedCommand& command) noexcept;
  /// The commands of a list.
  [[nodiscard]] std::vector<ListedCommand> commands_of(ze_command_list_handle_t list) const noexcept;

 private:
  struct List {
    ze_context_handle_t context = nullptr;
    ze_device_handle_t device = nullptr;
    bool is_immediate = true;
    std::vector<ListedCommand> commands;
  };
  [[nodiscard]] const List* find(ze_command_list_handle_t list) const noexcept {
    const auto found = lists_.find(list);
    return found == lists_.end() ? nullptr : &found->second;
  }

  mutable std::mutex mutex_;
  std::unordered_map<ze_command_list_handle_t, List> lists_;
};

}  // namespace tutti::profiling::ze
