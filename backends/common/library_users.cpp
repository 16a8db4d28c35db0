#include "common/library_users.hpp"

#include <chrono>

namespace tutti::common {
namespace {

using Outcome = spi::LibraryCalls::Outcome;

/// Time in which a thread can be made to leave a library: usually milliseconds, more if it sleeps in the system.
constexpr auto kPatience = std::chrono::milliseconds(3000);

}  // namespace

void LibraryUsers::add(LibraryUser& user) {
  const std::scoped_lock lock(mutex_);
  users_.push_back(&user);
}

void LibraryUsers::remove(LibraryUser& user) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(users_, &user);
}

bool LibraryUsers::interrupt(LibraryUser& user, const Error& cause) noexcept {
  user.give_up(cause);
  const Outcome outcome = user.calls().interrupt(kPatience);
  if (outcome != Outcome::interrupted) return outcome == Outcome::none;
  const std::scoped_lock lock(mutex_);
  if (!interruption_) interruption_ = cause;
  bool all_left = true;
  for (LibraryUser* other : users_) {
    if (other == &user) continue;
    other->give_up(unusable(cause));
    all_left = other->calls().interrupt(kPatience) != Outcome::stuck && all_left;
  }
  return all_left;
}

void LibraryUsers::interrupt_all(const Error& cause) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!interruption_) interruption_ = cause;
  for (LibraryUser* user : users_) {
    user->give_up(cause);
    (void)user->calls().interrupt(kPatience);
  }
}

void LibraryUsers::abandon(const Error& cause) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!interruption_) interruption_ = cause;
  for (LibraryUser* user : users_) user->give_up(unusable(cause));
}

bool LibraryUsers::is_interrupted() const noexcept {
  const std::scoped_lock lock(mutex_);
  return interruption_.has_value();
}

void LibraryUsers::require_usable() const {
  const std::scoped_lock lock(mutex_);
  if (interruption_) throw unusable(*interruption_);
}

Error LibraryUsers::unusable(const Error& cause) const {
  return {
      cause.code(),
      std::string(library_) + " can no longer be used in this process, because a call was interrupted: " + cause.what(),
      std::string(backend_)};
}

}  // namespace tutti::common
