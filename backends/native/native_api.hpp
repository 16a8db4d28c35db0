#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tutti/spi/file_descriptor.hpp"

/// The operating system as the engine sees it: every system call of the backend is made here. Failures are
/// Error{system} with errno as vendor code. Nothing here is on the data path; futex_wait() and futex_wake() are reached
/// only when a rank has spun in vain.
namespace tutti::native::api {

using spi::FileDescriptor;

/// A shared, read-write mapping of a whole file, or of anonymous memory.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(const FileDescriptor& file, std::size_t bytes);
  explicit Mapping(std::size_t bytes);
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Brings the pages of that range in, so that nobody meets them as faults: those of a file that are not there yet,
  /// and all of anonymous memory, come from the node of the calling thread.
  void populate(std::size_t offset, std::size_t bytes) const noexcept;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A file without a name, of fixed size, without memory yet: see reserve().
[[nodiscard]] FileDescriptor create_memfd(std::size_t bytes);
/// Another process's descriptor, through /proc.
[[nodiscard]] FileDescriptor open_memfd(std::int64_t pid, int fd);
/// A file in /dev/shm that did not exist, mode 0600, of fixed size, without memory yet.
[[nodiscard]] FileDescriptor create_shm(const std::string& name, std::size_t bytes);
/// Gives that range of a file memory, from the node of the calling thread where it has none. Memory that is missing
/// must be an error here and not a SIGBUS in the middle of an operation.
void reserve(const FileDescriptor& file, std::size_t offset, std::size_t bytes);
[[nodiscard]] FileDescriptor open_shm(const std::string& name);
void unlink_shm(const std::string& name) noexcept;
/// Bytes of a regular file of this user; throws for anything else, so that no stranger's file gets mapped.
[[nodiscard]] std::size_t checked_file_size(const FileDescriptor& file);

/// Record locks (POSIX, not OFD: a child made by fork() must not hold its parent's). They belong to the process and
/// vanish with it, or when it closes any descriptor of the file. True: the lock is ours.
[[nodiscard]] bool lock_byte(const FileDescriptor& file, std::int64_t offset) noexcept;
void unlock_byte(const FileDescriptor& file, std::int64_t offset) noexcept;
/// Whether another process holds it; true also when that cannot be told.
[[nodiscard]] bool is_locked_elsewhere(const FileDescriptor& file, std::int64_t offset) noexcept;

/// Sleeps while the word has that value, at most so long. May return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds at_most) noexcept;
/// Wakes one sleeper.
void futex_wake(const std::atomic<std::uint32_t>& word) noexcept;
void yield() noexcept;

/// Cores, one bit each.
using CoreSet = std::array<std::uint64_t, 16>;
/// Those the calling thread may run on.
[[nodiscard]] CoreSet usable_cores() noexcept;

/// How many the machine has.
[[nodiscard]] int online_cores() noexcept;
/// The one it runs on.
[[nodiscard]] std::int32_t current_core() noexcept;
/// Moves the calling thread to one of these; where it may run stays as it was. Nothing happens if there is none.
void visit_cores(const CoreSet& cores) noexcept;

[[nodiscard]] std::int64_t process_id() noexcept;
/// 128 bits of the system's randomness in hexadecimal.
[[nodiscard]] std::string random_name();

}  // namespace tutti::native::api
