#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "sinks/timeline/layout.hpp"

namespace tutti::profiling {

/// A fact about a slice that viewers show when it is selected.
struct Annotation {
  std::string_view key;
  std::variant<std::uint64_t, std::int64_t, std::string_view> value;
};

/// Replaces the content of `annotations` with the facts about an event: bytes, operation, type, backend, label, ranks,
/// region, communicator, sequence, error; `moved_ns` is that of its slice. Unknown facts are left out. The texts belong
/// to the profile.
void annotate(const Profile& profile, const EventRow& event, std::uint32_t moved_ns,
              std::vector<Annotation>& annotations);

}  // namespace tutti::profiling
