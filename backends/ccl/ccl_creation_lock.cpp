#include "ccl_creation_lock.hpp"

#include <string>

#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

std::string taken_key(std::uint64_t number) { return "ccl.turn." + std::to_string(number); }
std::string over_key(std::uint64_t number) { return "ccl.turn." + std::to_string(number) + ".over"; }

}  // namespace

CreationLock::Guard::Guard(CreationLock& creation)
    : creation_(creation), number_(creation.first_free_.load(std::memory_order_relaxed)) {
  while (true) {
    try {
      creation.job_.put(taken_key(number_), "");
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_usage) throw;
      ++number_;  // somebody was faster
    }
  }
  creation.first_free_.store(number_ + 1, std::memory_order_relaxed);
  if (number_ > 0) (void)creation.job_.get(over_key(number_ - 1));
}

CreationLock::Guard::~Guard() {
  try {
    creation_.job_.put(over_key(number_), "", 1);  // for the one whose turn is next
  } catch (const Error&) {
    // The store is gone, and with it everybody who might wait for this.
  }
}

}  // namespace tutti::ccl
