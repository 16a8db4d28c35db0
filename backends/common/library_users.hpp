#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/library_calls.hpp"

namespace tutti::common {

/// A communicator that makes blocking calls into a library.
class LibraryUser {
 public:
  /// Makes every later call of the communicator fail with the first such cause.
  virtual void give_up(const Error& cause) noexcept = 0;
  [[nodiscard]] spi::LibraryCalls& calls() noexcept { return calls_; }

 protected:
  /// `raise` throws the error for which the communicator was given up.
  LibraryUser(spi::LibraryCalls::Raise raise, const void* owner) noexcept : calls_(raise, owner) {}
  ~LibraryUser() = default;

  spi::LibraryCalls calls_;
};

/// The communicators of this process that use a library. When a call into the library is interrupted, the library is
/// left in an unknown state, so all of them fail. Thread-safe.
class LibraryUsers {
 public:
  /// `library`: its name in messages; `backend`: that of the module. Static storage.
  LibraryUsers(std::string_view library, std::string_view backend) noexcept : library_(library), backend_(backend) {}

  void add(LibraryUser& user);
  /// Before the user is destroyed; waits while one of its calls is being interrupted.
  void remove(LibraryUser& user) noexcept;
  /// Makes `user` fail with `cause` and ends its calls. If a thread was inside the library, all other users fail as
  /// well. False if a thread cannot be made to leave the library. `user` must not be destroyed meanwhile.
  bool interrupt(LibraryUser& user, const Error& cause) noexcept;
  /// Makes all users fail with `cause` and ends their calls: a part of the library that serves all has failed.
  void interrupt_all(const Error& cause) noexcept;
  /// The library must not be called any more, because a thread was left inside without a communicator.
  void abandon(const Error& cause) noexcept;
  /// Whether a call was interrupted, so that the library must not be called any more.
  [[nodiscard]] bool is_interrupted() const noexcept;
  /// Throws if a call was interrupted.
  void require_usable() const;

 private:
  [[nodiscard]] Error unusable(const Error& cause) const;

  std::string_view library_;
  std::string_view backend_;
  mutable std::mutex mutex_;
  std::vector<LibraryUser*> users_;
  std::optional<Error> interruption_;  ///< the first one
};

}  // namespace tutti::common
