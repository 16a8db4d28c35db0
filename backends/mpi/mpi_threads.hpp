#pragma once

#include <atomic>
#include <new>
#include <string>
#include <thread>

namespace tutti::mpi {

/// "MPI_THREAD_MULTIPLE" and the like.
[[nodiscard]] std::string level_name(int level);

/// Refuses threads that MPI's thread level does not allow: below MPI_THREAD_SERIALIZED every thread but MPI's main
/// thread, below MPI_THREAD_MULTIPLE a second thread while another is inside MPI.
class ThreadGate {
 public:
  /// `level` is the thread level that MPI provides (MPI_THREAD_SINGLE, ...). Call before the first Entry; below
  /// MPI_THREAD_SERIALIZED call it on MPI's main thread, because the calling thread is recorded as that.
  void set_level(int level) noexcept;
  [[nodiscard]] int level() const noexcept { return level_; }
  [[nodiscard]] bool admits_all() const noexcept { return admits_all_; }

 private:
  friend class Entry;
  [[noreturn]] void refuse() const;
  [[nodiscard]] bool serves(std::thread::id thread) const noexcept;

  int level_ = 0;
  bool admits_all_ = false;
  std::thread::id main_{};
  std::atomic<std::thread::id> inside_{};  ///< a default id: no thread is inside
};

/// Throws Error{invalid_usage}: the calling thread is not MPI's main thread, the only one that `level` allows.
[[noreturn]] void refuse_other_threads(int level);

/// Scope in which the calling thread may call MPI. A thread that is inside may enter again.
class Entry {
 public:
  /// Throws Error{invalid_usage} when MPI allows only its main thread and this is another one, or when MPI allows one
  /// thread at a time and another thread is inside. Waiting for that thread could deadlock: it may itself wait for a
  /// call that this thread is about to make.
  explicit Entry(ThreadGate& gate) : Entry(gate, std::nothrow) {
    if (!is_inside_) [[unlikely]]
      gate.refuse();
  }
  /// Does not throw; operator bool tells whether the thread was admitted.
  Entry(ThreadGate& gate, std::nothrow_t) noexcept {
    if (!gate.admits_all()) [[unlikely]]
      take(gate);
  }
  ~Entry() {
    if (taken_ != nullptr) [[unlikely]]
      taken_->inside_.store({}, std::memory_order_release);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return is_inside_; }

 private:
  void take(ThreadGate& gate) noexcept;

  ThreadGate* taken_ = nullptr;  ///< gate to leave again; null if the thread was inside before
  bool is_inside_ = true;
};

}  // namespace tutti::mpi
