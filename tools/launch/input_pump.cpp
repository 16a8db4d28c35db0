#include "launch/input_pump.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>

#include "launch/process.hpp"

namespace tutti::tools {

InputPump::InputPump(EventLoop& loop) : loop_(loop), pumps_(isatty(STDIN_FILENO) == 1) {
  if (!pumps_) return;
  Pipe pipe = make_pipe();
  reader_ = std::move(pipe.read);
  writer_ = std::move(pipe.write);
  fcntl(writer_.get(), F_SETFL, O_NONBLOCK);
  loop_.watch(STDIN_FILENO, [this] { pump(); });
}

InputPump::~InputPump() {
  if (pumps_) loop_.forget(STDIN_FILENO);
}

int InputPump::descriptor() const noexcept {
  if (pumps_) return reader_.get();
  return fcntl(STDIN_FILENO, F_GETFD) >= 0 ? STDIN_FILENO : -1;
}

// Retries later: the process does not read, or this process is in the background and must not read the terminal.
void InputPump::pause() {
  loop_.forget(STDIN_FILENO);
  retry_at_ = Clock::now() + std::chrono::milliseconds(100);
}

void InputPump::pump() {
  if (pending_.empty()) {
    if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return pause();
    std::array<char, 4096> bytes{};
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {  // end of input: pass it on by closing the pipe
      loop_.forget(STDIN_FILENO);
      writer_.reset();
      return;
    }
    pending_.assign(bytes.data(), static_cast<std::size_t>(count));
  }
  const ssize_t count = write(writer_.get(), pending_.data(), pending_.size());
  if (count < 0 && errno != EAGAIN) {  // the reader of the pipe is gone
    loop_.forget(STDIN_FILENO);
    return;
  }
  if (count > 0) pending_.erase(0, static_cast<std::size_t>(count));
  if (!pending_.empty()) pause();
}

void InputPump::tick() {
  if (!retry_at_ || Clock::now() < *retry_at_) return;
  retry_at_.reset();
  loop_.watch(STDIN_FILENO, [this] { pump(); });
  if (!pending_.empty()) pump();
}

}  // namespace tutti::tools
