#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>

#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/buffer.hpp"

/// Interoperability with Level Zero applications. Header-only; libtutti itself is not built with Level Zero. The
/// application and tutti's Level Zero module must use the same loader; a process has only one anyway.
namespace tutti::level_zero {

/// An immediate command list and the parameters it was created with, which Level Zero cannot always report.
struct CommandList {
  ze_command_list_handle_t list = nullptr;
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  /// Whether commands run in the order in which they were appended (the list was created in-order). Otherwise tutti
  /// puts barriers around its own commands.
  bool is_in_order = false;
  /// Engine of the list: `ordinal` and `index` of the ze_command_queue_desc_t it was created with. tutti creates its
  /// own lists on another engine, because a waiting command in one list blocks all lists of the same engine.
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;
};

/// Stream of a command list. An operation on it runs after everything appended to the list before and before everything
/// appended later; the call returns immediately. Buffers are memory of the list's context. The object `list` must not
/// be moved or destroyed while calls use the stream. The context must outlive the communicators that used it. The Level
/// Zero command list must outlive the commands that tutti appended to it, as it must for the application's own
/// commands.
///
/// On a device with a single engine, staged operations fail with Error{unsupported}. Ranks of one process need an
/// engine each.
///
/// Throws Error{backend_unavailable} if tutti's Level Zero module is missing or not usable, and Error{invalid_argument}
/// if a handle is null or the drivers do not list the device.
[[nodiscard]] inline Stream stream(CommandList& list) { return adopt_stream("level_zero", &list); }

/// The Level Zero device that `device` ("level_zero:0", "level_zero:0.1") names. Throws Error{config} if it belongs to
/// another module or does not exist.
[[nodiscard]] inline ze_device_handle_t device(Device device) {
  return *static_cast<const ze_device_handle_t*>(spi::native_device(device, "level_zero"));
}

}  // namespace tutti::level_zero
