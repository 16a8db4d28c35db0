#include "launch/event_loop.hpp"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tutti/error.hpp"

namespace tutti::tools {

void EventLoop::watch(int descriptor, std::function<void()> ready) { watched_[descriptor] = std::move(ready); }

void EventLoop::forget(int descriptor) { watched_.erase(descriptor); }

void EventLoop::wait(std::optional<Clock::time_point> deadline) {
  std::vector<pollfd> descriptors;
  descriptors.reserve(watched_.size());
  for (const auto& [descriptor, ready] : watched_) descriptors.push_back({descriptor, POLLIN, 0});
  int timeout = -1;
  if (deadline) {
    // Round up: waking before the deadline would only spin until it.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<long>(left, 0, 1000L * 3600));
  }
  if (poll(descriptors.data(), descriptors.size(), timeout) <= 0) return;
  for (const pollfd& entry : descriptors) {
    if (entry.revents == 0) continue;
    const auto found = watched_.find(entry.fd);
    if (found == watched_.end()) continue;  // removed by an earlier callback
    const std::function<void()> ready = found->second;
    ready();
  }
}

SignalWatch::SignalWatch(EventLoop& loop, std::function<void(int)> handler) : loop_(loop) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGCHLD}) {
    sigaddset(&taken, number);
  }
  sigprocmask(SIG_BLOCK, &taken, &previous_);
  descriptor_ = spi::FileDescriptor(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw Error(ErrorCode::system, std::string("signalfd failed: ") + std::strerror(errno));
  loop_.watch(descriptor_.get(), [this, handler = std::move(handler)] {
    signalfd_siginfo info{};
    while (read(descriptor_.get(), &info, sizeof info) == sizeof info) {
      is_from_terminal_ = info.ssi_code == SI_KERNEL;
      handler(static_cast<int>(info.ssi_signo));
    }
  });
}

SignalWatch::~SignalWatch() {
  loop_.forget(descriptor_.get());
  sigprocmask(SIG_SETMASK, &previous_, nullptr);
}

}  // namespace tutti::tools
