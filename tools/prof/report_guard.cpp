#include "prof/report_guard.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "launch/process.hpp"

namespace tutti::tools {
namespace {

/// Blocks until the other end is closed; whether it was closed without a word.
bool is_orphaned(int connection) {
  char word = 0;
  ssize_t count = 0;
  do {
    count = read(connection, &word, 1);
  } while (count < 0 && errno == EINTR);
  return count == 0;
}

/// Lets go of the command's input and output: readers of the output wait for its last writer. Messages may still go to
/// the standard error.
void leave_streams() {
  const spi::FileDescriptor null_device(open("/dev/null", O_RDWR | O_CLOEXEC));
  dup2(null_device.get(), STDIN_FILENO);
  dup2(null_device.get(), STDOUT_FILENO);
}

}  // namespace

ReportGuard::ReportGuard(const std::function<void()>& report) {
  Pipe pipe = make_pipe();
  guard_ = fork();
  if (guard_ == 0) {
    // Out of reach of signals to the rank's process group.
    setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(number, SIG_IGN);
    pipe.write.reset();
    leave_streams();
    if (is_orphaned(pipe.read.get())) report();
    _exit(0);
  }
  connection_ = std::move(pipe.write);
}

ReportGuard::~ReportGuard() {
  if (guard_ < 0) return;
  [[maybe_unused]] const ssize_t written = write(connection_.get(), "", 1);
  connection_.reset();
  waitpid(guard_, nullptr, 0);
}

}  // namespace tutti::tools
