// Interface between the driver (fuzz_main.cpp) and a target.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tutti/spi/printable.hpp"

namespace tutti::fuzz {

/// An invariant that does not hold. The driver prints the input and ends with a failure.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* invariant) {
  if (!holds) throw Broken(invariant);
}

/// Limit of a message about an input of any length. Longer ones could not be read.
inline constexpr std::size_t kLongestMessage = 2000;

/// Requires a message to be short UTF-8 text without control characters.
inline void require_printable(std::string_view message) {
  require(!message.empty(), "the message is empty");
  require(message.size() <= kLongestMessage, "the message is too long");
  require(spi::printable(message, kLongestMessage) == message, "the message contains bytes that cannot be printed");
}

/// Calls parse(); an exception that `Failure` allows must have a printable text. Any other exception leaves this
/// function, and the driver reports it.
template <typename Failure, typename Parse>
void expect_value_or(Parse&& parse) {
  try {
    parse();
  } catch (const Failure& error) {
    require_printable(error.what());
  }
}

/// Inputs to begin with, and words to insert.
struct Material {
  std::span<const std::string_view> seeds;
  std::span<const std::string_view> words;
};

// Defined by each target.
extern const Material material;
/// Parses the input and checks the invariants. Throws Broken, or whatever escapes from the parser.
void try_input(std::string_view input);

}  // namespace tutti::fuzz
