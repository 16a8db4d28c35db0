#include "faults/campaign/fault/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tutti::test::campaign {
namespace {

enum class Call : std::uint8_t {
  none,
  mmap,
  memfd_create,
  shm_open,
  ftruncate,
  posix_fallocate,
  socket,
  accept4,
  epoll_create1,
  eventfd,
  poll,
  recv,
  send,
  sendmsg,
  pthread_create,
};

struct Failure {
  Call call;
  int error;
  const char* text;
};

// Interruptions must change nothing; the others must become an Error, or nothing where the library has another way.
constexpr std::array kFailures = {
    Failure{Call::mmap, ENOMEM, "mmap ENOMEM"},
    Failure{Call::memfd_create, EMFILE, "memfd_create EMFILE"},
    Failure{Call::shm_open, EMFILE, "shm_open EMFILE"},
    Failure{Call::ftruncate, ENOSPC, "ftruncate ENOSPC"},
    Failure{Call::posix_fallocate, ENOSPC, "posix_fallocate ENOSPC"},
    Failure{Call::posix_fallocate, EINTR, "posix_fallocate EINTR"},
    Failure{Call::socket, EMFILE, "socket EMFILE"},
    Failure{Call::accept4, EMFILE, "accept4 EMFILE"},
    Failure{Call::accept4, EINTR, "accept4 EINTR"},
    Failure{Call::epoll_create1, EMFILE, "epoll_create1 EMFILE"},
    Failure{Call::eventfd, EMFILE, "eventfd EMFILE"},
    Failure{Call::poll, EINTR, "poll EINTR"},
    Failure{Call::recv, EINTR, "recv EINTR"},
    Failure{Call::recv, ECONNRESET, "recv ECONNRESET"},
    Failure{Call::send, EINTR, "send EINTR"},
    Failure{Call::sendmsg, EINTR, "sendmsg EINTR"},
    Failure{Call::pthread_create, EAGAIN, "pthread_create EAGAIN"},
};

std::atomic<int> scopes{0};
std::atomic<std::int64_t> allocations_left{-1};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::int64_t> calls_left{-1};
std::atomic<Call> failing{Call::none};
std::atomic<int> failing_error{0};
std::atomic<bool> has_failed{false};
std::uint64_t memory_allowance = 0;
rlimit usual_limit{};

/// Whether this call is the one that fails; errno is set then.
bool fails(Call call) noexcept {
  if (scopes.load() == 0 || failing.load() != call || calls_left.fetch_sub(1) != 1) return false;
  has_failed = true;
  errno = failing_error.load();
  return true;
}

void* take(std::size_t bytes, std::size_t alignment) {
  if (scopes.load() != 0) {
    allocations.fetch_add(1);
    if (allocations_left.load() > 0 && allocations_left.fetch_sub(1) == 1) {
      has_failed = true;
      throw std::bad_alloc();
    }
  }
  const std::size_t wanted = bytes != 0 ? bytes : 1;
  const std::size_t rounded = (wanted + alignment - 1) / alignment * alignment;
  void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(wanted);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

std::uint64_t address_space() noexcept {
  // "SIZE RESIDENT ..." in pages.
  std::array<char, 128> text{};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const bool read_some = read(file, text.data(), text.size() - 1) > 0;
  close(file);
  return read_some ? std::strtoull(text.data(), nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

template <typename Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void fail_allocation(std::uint64_t number) noexcept { allocations_left = static_cast<std::int64_t>(number); }

std::string fail_system_call(std::uint64_t choice, std::uint64_t number) {
  const Failure& failure = kFailures[choice % kFailures.size()];
  failing = failure.call;
  failing_error = failure.error;
  calls_left = static_cast<std::int64_t>(number);
  return failure.text;
}

void limit_memory(std::uint64_t bytes) noexcept { memory_allowance = bytes; }

bool has_failed_a_call() noexcept { return has_failed; }

std::uint64_t counted_allocations() noexcept { return allocations; }

FailingScope::FailingScope() noexcept {
  if (scopes.fetch_add(1) != 0 || memory_allowance == 0) return;
  getrlimit(RLIMIT_AS, &usual_limit);
  rlimit limit = usual_limit;
  limit.rlim_cur = address_space() + memory_allowance;
  setrlimit(RLIMIT_AS, &limit);
}

FailingScope::~FailingScope() {
  if (scopes.fetch_sub(1) == 1 && memory_allowance != 0) setrlimit(RLIMIT_AS, &usual_limit);
}

}  // namespace tutti::test::campaign

namespace campaign = tutti::test::campaign;
using campaign::Call;
using campaign::fails;

// The standard library defines the other forms in terms of these.
void* operator new(std::size_t bytes) { return campaign::take(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return campaign::take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

// Exported from the program, these come before those of the C library.
#pragma GCC visibility push(default)
extern "C" {

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) noexcept {
  if (fails(Call::mmap)) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

int memfd_create(const char* name, unsigned flags) noexcept {
  return fails(Call::memfd_create) ? -1 : static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

int shm_open(const char* name, int flags, mode_t mode) {
  static auto* const real = campaign::next<int(const char*, int, mode_t)>("shm_open");
  return fails(Call::shm_open) ? -1 : real(name, flags, mode);
}

int ftruncate(int file, off_t length) noexcept {
  return fails(Call::ftruncate) ? -1 : static_cast<int>(syscall(SYS_ftruncate, file, length));
}

int posix_fallocate(int file, off_t offset, off_t length) {
  static auto* const real = campaign::next<int(int, off_t, off_t)>("posix_fallocate");
  return fails(Call::posix_fallocate) ? errno : real(file, offset, length);
}

int socket(int domain, int type, int protocol) noexcept {
  return fails(Call::socket) ? -1 : static_cast<int>(syscall(SYS_socket, domain, type, protocol));
}

int accept4(int file, sockaddr* address, socklen_t* length, int flags) {
  return fails(Call::accept4) ? -1 : static_cast<int>(syscall(SYS_accept4, file, address, length, flags));
}

int epoll_create1(int flags) noexcept {
  return fails(Call::epoll_create1) ? -1 : static_cast<int>(syscall(SYS_epoll_create1, flags));
}

int eventfd(unsigned count, int flags) noexcept {
  return fails(Call::eventfd) ? -1 : static_cast<int>(syscall(SYS_eventfd2, count, flags));
}

int poll(pollfd* files, nfds_t count, int timeout) {
  static auto* const real = campaign::next<int(pollfd*, nfds_t, int)>("poll");
  return fails(Call::poll) ? -1 : real(files, count, timeout);
}

ssize_t recv(int file, void* data, size_t length, int flags) {
  return fails(Call::recv) ? -1 : syscall(SYS_recvfrom, file, data, length, flags, nullptr, nullptr);
}

ssize_t send(int file, const void* data, size_t length, int flags) {
  return fails(Call::send) ? -1 : syscall(SYS_sendto, file, data, length, flags, nullptr, 0);
}

ssize_t sendmsg(int file, const msghdr* message, int flags) {
  return fails(Call::sendmsg) ? -1 : syscall(SYS_sendmsg, file, message, flags);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  static auto* const real =
      campaign::next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(Call::pthread_create) ? errno : real(thread, attributes, body, argument);
}

}  // extern "C"
#pragma GCC visibility pop
