#include "call/forked_child.hpp"

#include <pthread.h>

#include <atomic>

#include "tutti/observer.hpp"

namespace tutti {
namespace {

constinit std::atomic<std::uint32_t> count{0};

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
  // Of the parent's; those that the child creates are not refused.
  detail::attention.fetch_add(count.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
});

}  // namespace

CountedCommunicator::CountedCommunicator() { count.fetch_add(1, std::memory_order_relaxed); }

CountedCommunicator::~CountedCommunicator() {
  (home_.is_here() ? count : detail::attention).fetch_sub(1, std::memory_order_relaxed);
}

Error used_in_child(const std::string& communicator) {
  return {ErrorCode::invalid_usage,
          "communicator " + communicator +
              " belongs to the process that created it, but was used in a child that this process forked; use it in "
              "the parent only, or create a communicator in the child"};
}

}  // namespace tutti
