#include "store/home_descriptor.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tutti {
namespace {

/// The descriptors that children close. The lock is held while the process forks, so that the child's copy is whole.
struct Registry {
  std::mutex mutex;
  std::vector<int> numbers;
};

Registry& registry() {
  // Never destroyed: static objects may close descriptors during exit.
  static auto* instance = new Registry;
  return *instance;
}

void before_fork() { registry().mutex.lock(); }

void after_fork_in_parent() { registry().mutex.unlock(); }

void after_fork_in_child() {
  Registry& table = registry();
  for (const int number : table.numbers) ::close(number);
  table.numbers.clear();
  table.mutex.unlock();
}

void register_handlers() {
  static const int registered = ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  (void)registered;  // fails for lack of memory only; children then keep the descriptors
}

}  // namespace

HomeDescriptor::HomeDescriptor(spi::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {
  if (!descriptor_) return;
  register_handlers();
  const std::lock_guard lock(registry().mutex);
  registry().numbers.push_back(descriptor_.get());
}

HomeDescriptor::HomeDescriptor(HomeDescriptor&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), home_(other.home_) {}

HomeDescriptor& HomeDescriptor::operator=(HomeDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(home_, other.home_);
  return *this;
}

void HomeDescriptor::reset() noexcept {
  if (!descriptor_) return;
  if (!is_home()) {
    (void)descriptor_.release();
    return;
  }
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().numbers, descriptor_.get());
  descriptor_.reset();
}

}  // namespace tutti
