#include "session/session_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace tutti::profiling {
namespace {

using layout::BlockHeader;
using layout::BlockType;
using layout::kBlockBytes;

constexpr std::uint32_t kFirstBlocks = 16;
constexpr std::uint32_t kStepBlocks = 64;

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

int open_again(int folder, const char* name, int flags, mode_t mode = 0) noexcept {
  int file = -1;
  do {
    file = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

// Host name with everything replaced that has no place in the name of a file.
void host_part(char (&text)[65]) noexcept {
  if (gethostname(text, sizeof text) != 0) text[0] = 0;
  text[sizeof text - 1] = 0;
  for (char* at = text; *at != 0; ++at) {
    const bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
    if (!plain && *at != '-') *at = '_';
  }
}

const char* check_folder(int folder) noexcept {
  if (folder < 0) {
    switch (errno) {
      case ENOENT:
        return "the session's folder is gone; nothing is recorded";
      case ENOTDIR:
      case ELOOP:
        return "the session's folder is a symbolic link or no folder; nothing is recorded";
      case EMFILE:
      case ENFILE:
        return "no file descriptor was free for the session's file; nothing is recorded";
      default:
        return "the session's folder cannot be opened by this process; nothing is recorded";
    }
  }
  struct stat status = {};
  if (fstat(folder, &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 022) != 0) {
    return "the session's folder belongs to another user, or others can write to it; nothing is recorded";
  }
  return nullptr;
}

const char* problem_of_growing(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "the disk of the session's folder is full; later records are dropped";
    case EFBIG:
      return "the limit for the size of files (ulimit -f) is reached; later records are dropped";
    case ENOENT:
    case ENOTDIR:
    case ESTALE:
      return "the session's folder or file was removed; later records are dropped when its memory is used up";
    default:
      return "the session's file cannot grow; later records are dropped";
  }
}

}  // namespace

const char* SessionFile::open_new(int folder, int& file) noexcept {
  char host[65];
  host_part(host);
  for (start_ = 0; start_ < 100'000; ++start_) {
    char name[160];
    std::snprintf(name, sizeof name, "%s-%d-%u%s", host, static_cast<int>(getpid()), start_, layout::kFileSuffix);
    file = open_again(folder, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0) {
      const std::size_t length = std::strlen(path_);
      const int added = std::snprintf(path_ + length, sizeof path_ - length, "/%s", name);
      if (added > 0 && length + static_cast<std::size_t>(added) < sizeof path_) return nullptr;
      unlinkat(folder, name, 0);
      return "the path of the session's folder is too long; nothing is recorded";
    }
    if (errno == EEXIST) continue;
    return errno == ENOSPC || errno == EDQUOT ? "the disk of the session's folder is full; nothing is recorded"
                                              : "no file can be made in the session's folder; nothing is recorded";
  }
  return "the session's folder has too many files of this process; nothing is recorded";
}

const char* SessionFile::create(const char* folder, std::uint64_t memory_limit) noexcept {
  *this = {};
  if (std::strlen(folder) >= sizeof path_) return "the path of the session's folder is too long; nothing is recorded";
  std::strcpy(path_, folder);
  most_ = static_cast<std::uint32_t>(memory_limit / kBlockBytes);

  const Descriptor there(open_again(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY));
  if (const char* problem = check_folder(there.get())) return problem;
  int number = -1;
  if (const char* problem = open_new(there.get(), number)) return problem;
  const Descriptor file(number);
  struct stat status = {};
  if (fstat(number, &status) != 0) return "the session's file cannot be examined; nothing is recorded";
  device_ = status.st_dev;
  inode_ = status.st_ino;
  const char* problem = grow(number, kFirstBlocks);
  if (problem == nullptr) {
    void* memory = mmap(nullptr, most_ * kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, number, 0);
    if (memory != MAP_FAILED) {
      base_ = static_cast<char*>(memory);
      header()->start = start_;
      used_ = 1;
      return nullptr;
    }
    problem = "the session's file cannot be mapped (a limit of address space?); nothing is recorded";
  }
  unlink(path_);
  return problem;
}

bool SessionFile::create_scratch(std::uint32_t blocks) noexcept {
  void* memory = mmap(nullptr, blocks * kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = static_cast<char*>(memory);
  used_ = 1;
  there_ = most_ = blocks;
  return true;
}

void SessionFile::remove_scratch() noexcept {
  if (base_ != nullptr) munmap(base_, most_ * kBlockBytes);
  forget();
}

const char* SessionFile::grow(int file, std::uint32_t blocks) noexcept {
  const auto bytes = static_cast<off_t>(blocks * kBlockBytes);
  // Beyond this limit the kernel sends a signal that would end the program.
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<rlim_t>(bytes) > limit.rlim_cur) {
    return problem_of_growing(EFBIG);
  }
  const auto from = static_cast<off_t>(there_ * kBlockBytes);
  int error = EINTR;
  for (int attempt = 0; error == EINTR && attempt < 100; ++attempt) {
    error = posix_fallocate(file, from, bytes - from);
  }
  if (error != 0) return problem_of_growing(error);
  there_ = blocks;
  return nullptr;
}

bool SessionFile::grow() noexcept {
  if (problem_ != nullptr) return false;
  const std::uint32_t wanted = std::min(most_, there_ + kStepBlocks);
  if (wanted == there_) {
    problem_ = "the session's memory (TUTTI_PROF_MEMORY) is used up; later records are dropped";
    return false;
  }
  const Descriptor file(open_again(AT_FDCWD, path_, O_RDWR));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    problem_ = problem_of_growing(errno);
  } else if (status.st_dev != device_ || status.st_ino != inode_) {
    problem_ = problem_of_growing(ENOENT);
  } else {
    problem_ = grow(file.get(), wanted);
  }
  return problem_ == nullptr;
}

BlockHeader* SessionFile::add_block(BlockType type, std::uint32_t thread, std::uint32_t table) noexcept {
  if (type == BlockType::events && used_ >= most_ - most_ / 8) return nullptr;
  if (used_ == there_ && !grow()) return nullptr;
  BlockHeader* added = block(used_);
  // Brings the pages in at once, and asks whether they can be written rather than finding out by a signal. Kernels
  // before 5.14 do not know the question.
  if (madvise(added, kBlockBytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    problem_ = problem_of_growing(errno);
    most_ = there_ = used_;
    return nullptr;
  }
  added->thread = thread;
  added->table = table;
  std::atomic_ref(added->type).store(type, std::memory_order_release);
  ++used_;
  std::atomic_ref(header()->blocks).store(used_, std::memory_order_release);
  return added;
}

void SessionFile::flush() const noexcept {
  if (base_ != nullptr) msync(base_, there_ * kBlockBytes, MS_SYNC);
}

}  // namespace tutti::profiling
