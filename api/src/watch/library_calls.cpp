#include "tutti/spi/library_calls.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "watch/unwinding.hpp"

namespace tutti::spi {

/// The call that is being interrupted. There is one at a time in a process; the handler finds it here.
struct Interruption {
  std::atomic<const LibraryCalls*> calls = nullptr;
  std::atomic<LibraryCalls::Mark*> mark = nullptr;
  std::atomic<pid_t> number = 0;  ///< of the thread, once a signal has found it
  std::atomic<bool> is_thrown = false;
  std::atomic<const LibraryCalls*> thrown_calls = nullptr;  ///< of the call that is_thrown speaks of
  std::atomic<const Operation*> thrown_operation = nullptr;

  /// Runs in the handler of every thread. Takes the thread out of the library if it is inside the call.
  void look(ucontext_t& context) noexcept;
  /// Throws the error of the call; called by the thread as if by the function that called the library.
  static void raise();

  [[nodiscard]] LibraryCalls::Outcome end(const LibraryCalls& owner, LibraryCalls::Mark& call,
                                          std::chrono::steady_clock::time_point until);
};

namespace {

Interruption the_interruption;

std::mutex& interruption_mutex() {
  static auto* mutex = new std::mutex;  // never destroyed: threads may be interrupted while the process exits
  return *mutex;
}

void on_signal(int, siginfo_t*, void* context) {
  const int error = errno;
  the_interruption.look(*static_cast<ucontext_t*>(context));
  errno = error;
}

/// False if the application uses the signal itself.
bool install_handler() noexcept {
  struct sigaction present {};
  const int number = LibraryCalls::signal_number();
  if (sigaction(number, nullptr, &present) != 0) return false;
  if ((present.sa_flags & SA_SIGINFO) != 0) return present.sa_sigaction == &on_signal;
  if (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN) return false;
  struct sigaction wanted {};
  // Other threads may be in system calls, which go on.
  wanted.sa_flags = SA_SIGINFO | SA_RESTART;
  wanted.sa_sigaction = &on_signal;
  sigemptyset(&wanted.sa_mask);
  return sigaction(number, &wanted, nullptr) == 0;
}

void signal_thread(pid_t thread) noexcept {
  (void)syscall(SYS_tgkill, getpid(), thread, LibraryCalls::signal_number());
}

/// The thread to interrupt is known by a frame on its stack only: each thread looks for that on its own.
void signal_all_threads() noexcept {
  struct Close {
    void operator()(DIR* folder) const noexcept { closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(opendir("/proc/self/task"));
  if (folder == nullptr) return;
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  while (const dirent* entry = readdir(folder.get())) {
    pid_t thread = 0;
    const std::string_view name = entry->d_name;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && thread != self) signal_thread(thread);
  }
}

}  // namespace

void Interruption::look(ucontext_t& context) noexcept {
  LibraryCalls::Mark* const where = mark.load(std::memory_order_acquire);
  if (where == nullptr || place_of(instruction_of(context)) == CodePlace::other) return;
  const void* const frame = where->frame.load(std::memory_order_acquire);
  if (frame == nullptr) return;
  const std::optional<WayOut> way = way_out(frame);
  if (!way) return;
  number.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  if (is_thrown.exchange(true)) return;
  thrown_calls.store(calls.load(std::memory_order_relaxed), std::memory_order_relaxed);
  thrown_operation.store(where->operation.load(std::memory_order_relaxed), std::memory_order_relaxed);
  way->take(context, &Interruption::raise);
}

void Interruption::raise() {
  const LibraryCalls& interrupted = *the_interruption.thrown_calls.load(std::memory_order_relaxed);
  interrupted.raise_(interrupted.owner_, *the_interruption.thrown_operation.load(std::memory_order_relaxed));
}

LibraryCalls::Outcome Interruption::end(const LibraryCalls& owner, LibraryCalls::Mark& call,
                                        std::chrono::steady_clock::time_point until) {
  using Outcome = LibraryCalls::Outcome;
  const std::scoped_lock lock(interruption_mutex());
  if (call.frame.load(std::memory_order_acquire) == nullptr) return Outcome::none;
  if (!install_handler()) return Outcome::stuck;
  number.store(0, std::memory_order_relaxed);
  is_thrown.store(false, std::memory_order_relaxed);
  calls.store(&owner, std::memory_order_relaxed);
  mark.store(&call, std::memory_order_release);
  while (call.frame.load(std::memory_order_acquire) != nullptr && std::chrono::steady_clock::now() < until) {
    if (!is_thrown.load(std::memory_order_relaxed)) {
      if (const pid_t known = number.load(std::memory_order_relaxed); known != 0) {
        signal_thread(known);
      } else {
        signal_all_threads();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  mark.store(nullptr, std::memory_order_release);
  if (call.frame.load(std::memory_order_acquire) != nullptr) return Outcome::stuck;
  return is_thrown.load(std::memory_order_relaxed) ? Outcome::interrupted : Outcome::none;
}

LibraryCalls::Outcome LibraryCalls::interrupt(std::chrono::milliseconds patience) noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  Outcome worst = Outcome::none;
  for (Mark& mark : marks_) {
    if (mark.frame.load(std::memory_order_acquire) == nullptr) continue;
    worst = std::max(worst, the_interruption.end(*this, mark, until));
  }
  return worst;
}

int LibraryCalls::signal_number() noexcept { return SIGRTMAX - 2; }

}  // namespace tutti::spi
