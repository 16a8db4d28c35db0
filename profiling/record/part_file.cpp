#include "record/part_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tutti/error.hpp"

namespace tutti::replay {

namespace {
constexpr std::size_t kFirst = std::size_t{64} << 10;
// The last line is written into room that was kept for it.
constexpr std::size_t kKept = 256;
}  // namespace

PartFile::PartFile(std::string path, std::size_t limit)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)),
      limit_(std::max(limit, kFirst)) {
  if (descriptor_ < 0)
    throw Error(ErrorCode::system, "file " + path_ + " cannot be created: " + std::strerror(errno), {}, errno);
  if (!make_room(1)) {
    close(descriptor_);
    throw Error(ErrorCode::system, "file " + path_ + " cannot be written: " + problem_);
  }
}

PartFile::~PartFile() {
  if (data_ != nullptr) munmap(data_, reserved_);
  // Zeros at the end are no harm: a reader ignores them.
  (void)!ftruncate(descriptor_, static_cast<off_t>(size_));
  close(descriptor_);
}

bool PartFile::make_room(std::size_t bytes) noexcept {
  if (*problem_ != '\0') return false;
  if (size_ + bytes + kKept <= reserved_) return true;
  const int before = errno;
  // Doubling keeps the number of these system calls small; the mapping may move.
  const std::size_t wanted = std::min(std::max({kFirst, 2 * reserved_, size_ + bytes + kKept}), limit_);
  int failure = 0;
  if (size_ + bytes + kKept > wanted) {
    problem_ = "the limit of a rank's record was reached";
  } else if ((failure = posix_fallocate(descriptor_, 0, static_cast<off_t>(wanted))) != 0) {
    problem_ = failure == ENOSPC ? "the disk is full" : "the file could not be extended";
  } else {
    void* const moved = data_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0)
                                         : mremap(data_, reserved_, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) {
      problem_ = "there was no memory to map the file";
    } else {
      data_ = static_cast<char*>(moved);
      reserved_ = wanted;
    }
  }
  errno = before;
  return *problem_ == '\0';
}

bool PartFile::append(std::string_view line) noexcept {
  if (!make_room(line.size() + 1)) return false;
  std::memcpy(data_ + size_, line.data(), line.size());
  data_[size_ + line.size()] = '\n';
  size_ += line.size() + 1;
  return true;
}

void PartFile::extend(std::size_t end, std::string_view text) noexcept {
  if (end != size_ || end == 0 || end + text.size() > reserved_) return;
  std::memcpy(data_ + end - 1, text.data(), text.size());
  data_[end - 1 + text.size()] = '\n';
  size_ += text.size();
}

}  // namespace tutti::replay
