#include "tutti/spi/thread.hpp"

#include <pthread.h>

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/spi/library_calls.hpp"

namespace tutti::spi {

std::thread start_thread(const char* name, std::function<void()> body) {
  // A new thread inherits the signal mask of its creator.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, LibraryCalls::signal_number());
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  std::string failure;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!failure.empty()) {
    throw Error(ErrorCode::system, "thread '" + std::string(name) + "' could not be started: " + failure);
  }
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace tutti::spi
