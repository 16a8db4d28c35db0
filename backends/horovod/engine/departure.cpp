#include "engine/departure.hpp"

#include <charconv>
#include <string>

#include "tutti/error.hpp"

namespace tutti::horovod {

namespace {

constexpr const char* kKey = "left";
constexpr const char* kShutdown = " shutdown";

}  // namespace

void Departure::announce(std::uint64_t rounds, Reason reason) noexcept {
  try {
    meeting_.put(kKey, std::to_string(rounds) + (reason == Reason::shutdown ? kShutdown : ""));
  } catch (const std::exception&) {
    // Another rank was first, or the job's store has ended already.
  }
}

std::optional<std::uint64_t> Departure::seen() noexcept {
  try {
    const std::optional<std::string> text = meeting_.find(kKey);
    if (!text) return std::nullopt;
    std::uint64_t rounds = 0;
    std::from_chars(text->data(), text->data() + text->size(), rounds);
    return rounds;
  } catch (const std::exception&) {
    return 0;
  }
}

bool Departure::is_shutdown() noexcept { return announced().ends_with(kShutdown); }

std::string Departure::announced() noexcept {
  try {
    return meeting_.find(kKey).value_or("");
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace tutti::horovod
