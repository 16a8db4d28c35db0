#include "native_api.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "tutti/error.hpp"
#include "tutti/spi/folder.hpp"

namespace tutti::native::api {
namespace {

[[noreturn]] void fail(const std::string& what) {
  const int code = errno;
  throw Error(ErrorCode::system, what + ": " + std::generic_category().message(code), "native", code);
}

void set_size(const FileDescriptor& file, std::size_t bytes) {
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    fail("cannot set the size of the segment to " + std::to_string(bytes) + " bytes (ftruncate)");
}

struct flock lock_of(short type, std::int64_t offset) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Mapping::Mapping(const FileDescriptor& file, std::size_t bytes) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data_ == MAP_FAILED) fail("cannot map the segment of " + std::to_string(bytes) + " bytes (mmap)");
  madvise(data_, bytes, MADV_DONTFORK);
}

Mapping::Mapping(std::size_t bytes) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) fail("cannot allocate a segment of " + std::to_string(bytes) + " bytes (mmap)");
  madvise(data_, bytes, MADV_DONTFORK);
}

int Mapping::populate(std::size_t offset, std::size_t bytes) const noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = offset / page * page;
  auto* const data = static_cast<std::byte*>(data_) + begin;
  // Linux before 5.14 lacks this advice; each page then faults when it is first used.
  if (madvise(data, offset + bytes - begin, MADV_POPULATE_WRITE) == 0 || errno == EINVAL) return 0;
  return errno == EFAULT ? ENOMEM : errno;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

FileDescriptor create_memfd(std::size_t bytes) {
  FileDescriptor file(memfd_create("tutti", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) fail("cannot create a memfd for the segment (memfd_create)");
  set_size(file, bytes);
  // The seals keep other processes from shrinking the file while ranks have it mapped.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail("cannot seal the segment (F_ADD_SEALS)");
  return file;
}

FileDescriptor open_memfd(std::int64_t pid, int fd) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) fail("cannot open " + path);
  return file;
}

FileDescriptor create_shm(const std::string& name, std::size_t bytes) {
  FileDescriptor file(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) fail("cannot create /dev/shm" + name + " (shm_open)");
  try {
    set_size(file, bytes);
  } catch (...) {
    unlink_shm(name);
    throw;
  }
  return file;
}

FileDescriptor open_shm(const std::string& name) {
  FileDescriptor file(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!file) fail("cannot open /dev/shm" + name + " (shm_open)");
  return file;
}

int reserve(const FileDescriptor& file, std::size_t offset, std::size_t bytes) noexcept {
  int code = 0;
  do {
    code = posix_fallocate(file.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (code == EINTR);
  return code;
}

std::vector<std::string> abandoned_shm(const std::string& prefix) {
  constexpr std::time_t kMinute = 60;
  std::vector<std::string> names;
  for (const std::string& entry : spi::names_in("/dev/shm")) {
    std::string name = "/" + entry;
    if (!name.starts_with(prefix)) continue;
    const FileDescriptor file(shm_open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0));
    struct stat status = {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) continue;
    struct flock lock = lock_of(F_WRLCK, 0);
    lock.l_len = 0;  // the whole file
    const bool is_free = fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    if (is_free && status.st_mtime + kMinute < std::time(nullptr)) names.push_back(std::move(name));
  }
  return names;
}

void unlink_shm(const std::string& name) noexcept { shm_unlink(name.c_str()); }

std::size_t checked_file_size(const FileDescriptor& file) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) fail("cannot examine the file of the segment (fstat)");
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
    errno = EPERM;
    fail("the segment is not a regular file of this user (all ranks must run as the same user)");
  }
  return static_cast<std::size_t>(status.st_size);
}

bool lock_byte(const FileDescriptor& file, std::int64_t offset) noexcept {
  struct flock lock = lock_of(F_WRLCK, offset);
  return fcntl(file.get(), F_SETLK, &lock) == 0;
}

void unlock_byte(const FileDescriptor& file, std::int64_t offset) noexcept {
  struct flock lock = lock_of(F_UNLCK, offset);
  fcntl(file.get(), F_SETLK, &lock);
}

bool is_locked_elsewhere(const FileDescriptor& file, std::int64_t offset) noexcept {
  struct flock lock = lock_of(F_WRLCK, offset);
  return fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "a futex is a plain 32-bit word");

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::nanoseconds at_most) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec timeout = {.tv_sec = seconds.count(), .tv_nsec = (at_most - seconds).count()};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void futex_wake(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void yield() noexcept { sched_yield(); }

CoreSet usable_cores() noexcept {
  CoreSet result = {};
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
  // The call fails on machines with more cores than the set has room for: then all cores of the set count.
  for (std::size_t core = 0; core < CPU_SETSIZE && core < result.size() * 64; ++core) {
    if (!known || CPU_ISSET(core, &set)) result[core / 64] |= std::uint64_t{1} << core % 64;
  }
  return result;
}

int online_cores() noexcept { return static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

std::int32_t current_core() noexcept { return sched_getcpu(); }

void visit_cores(const CoreSet& cores) noexcept {
  cpu_set_t before;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (std::size_t core = 0; core < CPU_SETSIZE && core < cores.size() * 64; ++core) {
    if ((cores[core / 64] >> core % 64 & 1) != 0) CPU_SET(core, &wanted);
  }
  if (CPU_COUNT(&wanted) == 0 || sched_getaffinity(0, sizeof(before), &before) != 0) return;
  if (sched_setaffinity(0, sizeof(wanted), &wanted) == 0) sched_setaffinity(0, sizeof(before), &before);
}

std::int64_t process_id() noexcept { return getpid(); }

std::string random_name() {
  std::array<unsigned char, 16> bytes = {};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail("cannot get random bytes (getrandom)");
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace tutti::native::api
