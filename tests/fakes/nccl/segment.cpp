#include "segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tutti::test::fake_nccl {

std::size_t Ring::write(const std::byte* data, std::size_t bytes) noexcept {
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  const std::size_t room = kCapacity - (written - read_.load(std::memory_order_acquire));
  const std::size_t now = std::min(bytes, room);
  for (std::size_t done = 0; done < now;) {
    const std::size_t place = (written + done) % kCapacity;
    const std::size_t part = std::min(now - done, kCapacity - place);
    std::memcpy(data_.data() + place, data + done, part);
    done += part;
  }
  written_.store(written + now, std::memory_order_release);
  return now;
}

std::size_t Ring::read(std::byte* data, std::size_t bytes) noexcept {
  const std::uint64_t begin = read_.load(std::memory_order_relaxed);
  const std::size_t now = std::min<std::size_t>(bytes, written_.load(std::memory_order_acquire) - begin);
  for (std::size_t done = 0; done < now;) {
    const std::size_t place = (begin + done) % kCapacity;
    const std::size_t part = std::min(now - done, kCapacity - place);
    std::memcpy(data + done, data_.data() + place, part);
    done += part;
  }
  read_.store(begin + now, std::memory_order_release);
  return now;
}

Segment::Segment(const std::string& name, int ranks)
    : name_(name), ranks_(ranks), bytes_(sizeof(Header) + 64 + 2 * sizeof(Ring) * ranks * ranks) {
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0) throw std::runtime_error("fake NCCL: no shared memory");
  void* memory = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
    memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("fake NCCL: no shared memory");
  header_ = static_cast<Header*>(memory);
  const std::size_t offset = (sizeof(Header) + 63) / 64 * 64;
  rings_ = reinterpret_cast<Ring*>(static_cast<std::byte*>(memory) + offset);
}

Segment::~Segment() {
  // A rank that gives up before all have joined removes the name.
  if (!is_complete()) shm_unlink(name_.c_str());
  munmap(header_, bytes_);
}

void Segment::join(int rank, const std::string& device) {
  Member& own = header_->members[static_cast<std::size_t>(rank)];
  std::strncpy(own.device.data(), device.c_str(), own.device.size() - 1);
  if (header_->joined.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) shm_unlink(name_.c_str());
}

bool Segment::is_complete() const noexcept { return header_->joined.load(std::memory_order_acquire) == ranks_; }

Ring& Segment::ring(bool is_message, int from, int to) noexcept {
  const int index = ((is_message ? 1 : 0) * ranks_ + from) * ranks_ + to;
  return rings_[index];
}

}  // namespace tutti::test::fake_nccl
