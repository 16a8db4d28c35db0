#include "launch/exit_order.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tutti/error.hpp"

namespace tutti::tools {

ExitOrder::ExitOrder() : ended_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!ended_) throw Error(ErrorCode::system, std::string("epoll_create1 failed: ") + std::strerror(errno));
}

void ExitOrder::add(pid_t child) {
  spi::FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (!process) return;
  epoll_event event{.events = EPOLLIN, .data = {.fd = child}};
  if (epoll_ctl(ended_.get(), EPOLL_CTL_ADD, process.get(), &event) == 0) children_[child] = std::move(process);
}

std::optional<pid_t> ExitOrder::take() {
  epoll_event event{};
  if (epoll_wait(ended_.get(), &event, 1, 0) != 1) return std::nullopt;
  const pid_t child = event.data.fd;
  children_.erase(child);  // closing its descriptor removes it from epoll
  return child;
}

}  // namespace tutti::tools
