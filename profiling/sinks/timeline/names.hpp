#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/profile.hpp"

/// Texts of timelines, the same in all formats.
namespace tutti::profiling {

/// The text with everything that is not UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// "1 MiB", "1.5 KiB", "1000 B": exact where it fits four digits.
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// "rank 0: python train.py (pid 123)".
[[nodiscard]] std::string process_label(const ProcessRow& process);

/// Size of the event's message: of its context, or else its own.
[[nodiscard]] std::uint64_t message_bytes(const Profile& profile, const EventRow& event);

/// Name of an operation with its size ("allreduce 1 MiB"), of other events their own.
[[nodiscard]] std::string event_label(const Profile& profile, const EventRow& event);

/// The row of the event's context, or nullptr.
[[nodiscard]] const ContextRow* context_of(const Profile& profile, const EventRow& event);

/// Title of the event's source, or "unknown source".
[[nodiscard]] std::string_view category_of(const Profile& profile, const EventRow& event);

/// The name of that number; empty if there is none.
[[nodiscard]] std::string_view name_of(const Profile& profile, std::uint32_t name);

/// Time of a process in the clock that all processes share: nanoseconds since 1970.
[[nodiscard]] std::uint64_t shared_time(const ProcessRow& process, std::uint64_t time_ns);

}  // namespace tutti::profiling
