#include "creation/ccl_creation_lock.hpp"

#include <string>

#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

std::string taken_key(std::uint64_t number) { return "ccl.turn." + std::to_string(number); }
std::string over_key(std::uint64_t number) { return "ccl.turn." + std::to_string(number) + ".over"; }

}  // namespace

CreationLock::Guard::Guard(CreationLock& creation_lock)
    : creation_lock_(creation_lock), number_(creation_lock.first_free_.load(std::memory_order_relaxed)) {
  while (true) {
    try {
      creation_lock.store_->put(taken_key(number_), "");
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_usage) throw;
      ++number_;  // another rank has taken this number
    }
  }
  creation_lock.first_free_.store(number_ + 1, std::memory_order_relaxed);
  if (number_ > 0) (void)creation_lock.store_->get(over_key(number_ - 1), creation_lock.timeout_);
}

CreationLock::Guard::~Guard() {
  try {
    creation_lock_.store_->put(over_key(number_), "", 1);  // read once, by the next holder
  } catch (const Error&) {
    // The store is gone, so no rank can be waiting for the lock.
  }
}

}  // namespace tutti::ccl
