#pragma once

#include <atomic>
#include <new>
#include <thread>

namespace tutti::mpi {

/// Keeps those threads out of MPI that it was not started for: below MPI_THREAD_SERIALIZED all but its main thread,
/// below MPI_THREAD_MULTIPLE a second one while another is inside.
class ThreadGate {
 public:
  /// What MPI provides (MPI_THREAD_SINGLE, ...); to be set before the first entry, by MPI's main thread where there is
  /// only that.
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
  std::atomic<std::thread::id> inside_{};  ///< no thread: a default id
};

/// Throws the Error{invalid_usage} of a thread that is not MPI's main thread, at a level where there is only that.
[[noreturn]] void refuse_other_threads(int level);

/// The time a thread spends in MPI. A thread that is inside may enter again.
class Entry {
 public:
  /// Throws Error{invalid_usage} when MPI takes its main thread only and this is another one, or when another thread
  /// is inside and MPI takes one at a time: to wait for it instead could be for ever, if what it waits for is what this
  /// one was about to do.
  explicit Entry(ThreadGate& gate) : Entry(gate, std::nothrow) {
    if (!is_inside_) [[unlikely]]
      gate.refuse();
  }
  /// To be asked afterwards whether it is inside.
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

  ThreadGate* taken_ = nullptr;  ///< to be left again; null also when the thread was inside before
  bool is_inside_ = true;
};

}  // namespace tutti::mpi
