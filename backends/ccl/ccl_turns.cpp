#include "ccl_turns.hpp"

#include <string>

#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

std::string taken_key(std::uint64_t number) { return "ccl.turn." + std::to_string(number); }
std::string over_key(std::uint64_t number) { return "ccl.turn." + std::to_string(number) + ".over"; }

}  // namespace

Turns::Turn::Turn(Turns& turns) : turns_(turns), number_(turns.first_free_.load(std::memory_order_relaxed)) {
  while (true) {
    try {
      turns.job_.put(taken_key(number_), "");
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_usage) throw;
      ++number_;  // somebody was faster
    }
  }
  turns.first_free_.store(number_ + 1, std::memory_order_relaxed);
  if (number_ > 0) (void)turns.job_.get(over_key(number_ - 1));
}

Turns::Turn::~Turn() {
  try {
    turns_.job_.put(over_key(number_), "", 1);  // for the one whose turn is next
  } catch (const Error&) {
    // The store is gone, and with it everybody who might wait for this.
  }
}

}  // namespace tutti::ccl
