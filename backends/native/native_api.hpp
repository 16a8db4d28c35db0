#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tutti/spi/file_descriptor.hpp"

/// All system calls of the backend. Failures are Error{system} with errno as vendor code. None of them is on the data
/// path; futex_wait() and futex_wake() are called only when a rank has spun in vain.
namespace tutti::native::api {

using spi::FileDescriptor;

/// A shared, read-write mapping of a whole file, or of anonymous memory. A child made by fork() does not get it: it
/// cannot write to memory of the job.
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
  /// Populates the pages of a range, so that later accesses do not fault. Missing pages of a file and all pages of
  /// anonymous memory come from the NUMA node of the calling thread. Returns 0 or the error number of a lack of memory.
  int populate(std::size_t offset, std::size_t bytes) const noexcept;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Creates an unnamed file of fixed size; reserve() gives it memory.
[[nodiscard]] FileDescriptor create_memfd(std::size_t bytes);
/// Opens the file of another process's descriptor, through /proc.
[[nodiscard]] FileDescriptor open_memfd(std::int64_t pid, int fd);
/// Creates a new file in /dev/shm of mode 0600 and fixed size; reserve() gives it memory.
[[nodiscard]] FileDescriptor create_shm(const std::string& name, std::size_t bytes);
/// Allocates the memory of a range of a file where it has none, on the NUMA node of the calling thread. A lack of
/// memory must be an error here and not a SIGBUS in the middle of an operation. Returns 0 or the error number.
[[nodiscard]] int reserve(const FileDescriptor& file, std::size_t offset, std::size_t bytes) noexcept;
[[nodiscard]] FileDescriptor open_shm(const std::string& name);
void unlink_shm(const std::string& name) noexcept;
/// Names in /dev/shm that begin with `prefix`, of files of this user that are more than a minute old and on which no
/// other process holds a record lock.
[[nodiscard]] std::vector<std::string> abandoned_shm(const std::string& prefix);
/// Size in bytes of a regular file of this user; throws for any other file, so that no other user's file gets mapped.
[[nodiscard]] std::size_t checked_file_size(const FileDescriptor& file);

/// Record locks (POSIX, not OFD: a child made by fork() must not hold its parent's). A lock belongs to the process and
/// ends with it, or when it closes any descriptor of the file. lock_byte() returns whether this process has the lock.
[[nodiscard]] bool lock_byte(const FileDescriptor& file, std::int64_t offset) noexcept;
void unlock_byte(const FileDescriptor& file, std::int64_t offset) noexcept;
/// Whether another process holds the lock; true also when the system call fails.
[[nodiscard]] bool is_locked_elsewhere(const FileDescriptor& file, std::int64_t offset) noexcept;

/// Sleeps while the word has that value, for at most `at_most`. May return early.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds at_most) noexcept;
/// Wakes one sleeper.
void futex_wake(const std::atomic<std::uint32_t>& word) noexcept;
void yield() noexcept;

/// Set of cores, one bit each.
using CoreSet = std::array<std::uint64_t, 16>;
/// Cores on which the calling thread may run.
[[nodiscard]] CoreSet usable_cores() noexcept;

/// Number of cores of the machine.
[[nodiscard]] int online_cores() noexcept;
/// Core on which the calling thread runs.
[[nodiscard]] std::int32_t current_core() noexcept;
/// Moves the calling thread to one of `cores`; its CPU affinity stays as it was. Does nothing if the set is empty.
void visit_cores(const CoreSet& cores) noexcept;

[[nodiscard]] std::int64_t process_id() noexcept;
/// 128 random bits of the system in hexadecimal.
[[nodiscard]] std::string random_name();

}  // namespace tutti::native::api
