#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::profiling {

/// The part that a function of the Unified Runtime has in the session, beside its own time.
enum class Role : std::uint8_t {
  plain,
  allocation,  ///< gives memory to the program
  release,     ///< takes it back
  copy,        ///< moves bytes and is work of a device
  fill,
  prefetch,
  launch,  ///< a kernel
  queue_creation,
  queue_release,
  kernel_creation,
  device_partition,
  event_wait,  ///< after which the commands of its events are complete
  event_release,
  wait,      ///< after which work of devices has ended
  shutdown,  ///< before which the last look at the events must be
};

/// Numbers of a function's arguments; -1: it has none of the kind.
struct FunctionLayout {
  std::string_view name;
  Role role = Role::plain;
  std::int8_t queue = -1;   ///< the queue, or at queue_creation the place for its handle
  std::int8_t device = -1;  ///< of allocations and queues
  std::int8_t bytes = -1;
  std::int8_t rows = -1;  ///< a factor of the bytes
  std::int8_t to = -1;    ///< address that is written; of allocations: where the new address is put
  std::int8_t from = -1;
  std::int8_t event = -1;   ///< the place for the event
  std::int8_t kernel = -1;  ///< the kernel, or at kernel_creation the place for its handle
  char place = 'M';         ///< of allocations: letter of the kind of memory
};

/// The layout of a function in version 0.`version` of the Unified Runtime; a plain one if it is not in the table.
[[nodiscard]] FunctionLayout find_layout(std::string_view function, unsigned version) noexcept;

/// Whether a function only asks for something and is called at a high rate.
[[nodiscard]] bool is_query(std::string_view function) noexcept;

}  // namespace tutti::profiling
