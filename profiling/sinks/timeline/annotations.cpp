#include "sinks/timeline/annotations.hpp"

#include "sinks/timeline/names.hpp"

namespace tutti::profiling {

void annotate(const Profile& profile, const EventRow& event, std::uint32_t moved_ns,
              std::vector<Annotation>& annotations) {
  annotations.clear();
  const auto number = [&](std::string_view key, std::uint64_t value) { annotations.push_back({key, value}); };
  const auto text = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) annotations.push_back({key, value});
  };
  const bool operation = event.kind == Kind::operation;
  if (operation || event.bytes != 0) number("bytes", operation ? message_bytes(profile, event) : event.bytes);
  if (const ContextRow* context = context_of(profile, event); context != nullptr) {
    text("op", context->operation);
    if (!operation && context->bytes != 0) number("op_bytes", context->bytes);
    text("type", context->type);
    text("backend", context->backend);
    text("label", context->label);
    if (context->ranks != 0) number("ranks", context->ranks);
  }
  text("region", name_of(profile, event.region));
  if (const auto index = static_cast<std::size_t>(event.communicator);
      event.communicator >= 0 && index < profile.communicators.size()) {
    text("communicator", profile.communicators[index].name);
    number("sequence", event.sequence);
  }
  if (event.error != 0) annotations.push_back({"error", std::int64_t{event.error}});
  if (moved_ns != 0) number("moved_ns", moved_ns);
}

}  // namespace tutti::profiling
