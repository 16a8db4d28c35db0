#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>

#include "tutti/buffer.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"

/// For applications that use Level Zero themselves. Header-only; libtutti itself is not built with Level Zero. The
/// application and tutti's module must use the same loader, which a process has once anyway.
namespace tutti::level_zero {

/// An immediate command list with what it was made of, which Level Zero cannot always be asked for.
struct CommandList {
  ze_command_list_handle_t list = nullptr;
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  /// Whether its commands run in the order they were appended, as those of lists made to be in order do. Otherwise
  /// tutti puts barriers around its own.
  bool is_in_order = false;
  /// The engine: `ordinal` and `index` of the ze_command_queue_desc_t that it was made with. tutti's own lists are made
  /// for another, since all lists of an engine stand behind what waits in one of them.
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;
};

/// The stream of a command list. Operations on it come after everything appended to the list before them and before
/// everything appended later; the call returns at once. Buffers are memory of the list's context. The object `list`
/// must stay where it is while the stream is used in calls. The context must outlive the communicators that used it,
/// the list what tutti appended to it, as with commands of the application's own.
///
/// On a device with one engine only, operations that are staged are refused with Error{unsupported}. Ranks of one
/// process need an engine each.
///
/// Throws Error{backend_unavailable} when tutti's module for Level Zero is not there or not usable, and
/// Error{invalid_argument} when a handle is missing or the device is none that the drivers show.
[[nodiscard]] inline Stream stream(CommandList& list) { return adopt_stream("level_zero", &list); }

/// The Level Zero device that `device` ("level_zero:0", "level_zero:0.1") names. Throws Error{config} when it is of
/// another module or does not exist.
[[nodiscard]] inline ze_device_handle_t device(Device device) {
  return *static_cast<const ze_device_handle_t*>(spi::native_device(device, "level_zero"));
}

}  // namespace tutti::level_zero
