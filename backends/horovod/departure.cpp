#include "departure.hpp"

#include <charconv>
#include <string>

#include "tutti/error.hpp"

namespace tutti::horovod {

namespace {

constexpr const char* kKey = "left";

}  // namespace

void Departure::announce(std::uint64_t rounds) noexcept {
  try {
    meeting_.put(kKey, std::to_string(rounds));
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

bool Departure::is_announced() noexcept {
  try {
    return meeting_.find(kKey).has_value();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace tutti::horovod
