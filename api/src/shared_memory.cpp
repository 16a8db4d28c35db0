#include "tutti/spi/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <system_error>

#include "tutti/allocate.hpp"
#include "tutti/error.hpp"
#include "tutti/share.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti {
namespace {

constexpr std::string_view kOwner = "allocate";
// Alignment of file offsets, so that large pages can be used if the system has them for such files.
constexpr std::uint64_t kGranule = 2U << 20;
constexpr std::uint64_t kPage = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return (value + step - 1) / step * step;
}

[[noreturn]] void fail(const std::string& what, int code) {
  throw Error(ErrorCode::system, what + ": " + std::generic_category().message(code), {}, code);
}

/// All pages are populated at once: a request beyond the physical memory would make the kernel kill other processes.
void check_size(std::uint64_t bytes) {
  static const std::uint64_t all =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes > all) {
    fail("cannot allocate " + std::to_string(bytes) +
             " bytes of shared memory (physical memory: " + std::to_string(all) + " bytes)",
         ENOMEM);
  }
}

/// Throws unless /proc/self/maps lists the whole range as private writable memory.
void check_private(const void* data, std::uint64_t bytes) {
  std::ifstream maps("/proc/self/maps");
  auto at = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t end = at + bytes;
  std::string line;
  while (at < end && std::getline(maps, line)) {
    std::istringstream words(line);
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char dash = 0;
    std::string access;
    if (!(words >> std::hex >> first >> dash >> last >> access) || last <= at) continue;
    if (first > at) break;
    if (access.size() < 4 || access[1] != 'w' || access[3] != 'p') {
      throw Error(ErrorCode::invalid_argument,
                  "share() needs private writable memory; /proc/self/maps lists it as: " + line);
    }
    at = last;
  }
  if (at < end) {
    throw Error(ErrorCode::invalid_argument, "share(): only the first " + std::to_string(bytes - (end - at)) +
                                                 " of the " + std::to_string(bytes) + " bytes are mapped");
  }
}

/// Allocations sorted by address. One writer at a time. Readers take no lock: they retry if `version_` is odd (a write
/// is in progress) or has changed.
class Directory {
 public:
  // Returns false if the table is full.
  bool insert(std::uintptr_t begin, std::uint64_t bytes, std::uint64_t offset) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count == rows_.size()) return false;
    version_.fetch_add(1, std::memory_order_acq_rel);
    std::size_t at = count;
    for (; at > 0 && rows_[at - 1].begin.load(std::memory_order_relaxed) > begin; --at) rows_[at].take(rows_[at - 1]);
    rows_[at].set(begin, bytes, offset);
    count_.store(count + 1, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
    return true;
  }
  void erase(std::uintptr_t begin) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    std::size_t at = 0;
    while (at < count && rows_[at].begin.load(std::memory_order_relaxed) != begin) ++at;
    if (at == count) return;
    version_.fetch_add(1, std::memory_order_acq_rel);
    for (; at + 1 < count; ++at) rows_[at].take(rows_[at + 1]);
    count_.store(count - 1, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }
  void clear() noexcept {
    version_.fetch_add(1, std::memory_order_acq_rel);
    count_.store(0, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t offset_of(std::uintptr_t data, std::uint64_t bytes) const noexcept {
    while (true) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      const std::uint64_t offset = version % 2 == 0 ? search(data, bytes) : spi::kNotShared;
      if (version % 2 == 0 && version_.load(std::memory_order_acquire) == version) return offset;
    }
  }

 private:
  struct Row {
    std::atomic<std::uintptr_t> begin;
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> offset;

    void set(std::uintptr_t new_begin, std::uint64_t new_bytes, std::uint64_t new_offset) noexcept {
      begin.store(new_begin, std::memory_order_release);
      bytes.store(new_bytes, std::memory_order_release);
      offset.store(new_offset, std::memory_order_release);
    }
    void take(const Row& other) noexcept {
      set(other.begin.load(std::memory_order_relaxed), other.bytes.load(std::memory_order_relaxed),
          other.offset.load(std::memory_order_relaxed));
    }
  };

  // Uses the last row that begins at or before `data`. Acquire loads, so that the version is read again after the rows.
  [[nodiscard]] std::uint64_t search(std::uintptr_t data, std::uint64_t bytes) const noexcept {
    std::size_t low = 0;
    std::size_t high = std::min(count_.load(std::memory_order_acquire), rows_.size());
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (rows_[middle].begin.load(std::memory_order_acquire) <= data)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0) return spi::kNotShared;
    const Row& row = rows_[low - 1];
    const std::uint64_t at = data - row.begin.load(std::memory_order_acquire);
    const std::uint64_t length = row.bytes.load(std::memory_order_acquire);
    if (at > length || bytes > length - at) return spi::kNotShared;
    return row.offset.load(std::memory_order_acquire) + at;
  }

  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::size_t> count_ = 0;
  std::array<Row, 1024> rows_ = {};
};

/// The shared file and the allocations in it.
class SharedMemory {
 public:
  void* allocate(std::uint64_t bytes) {
    check_size(bytes);
    const std::uint64_t length = round_up(std::max<std::uint64_t>(bytes, 1), kPage);
    const std::scoped_lock lock(mutex_);
    require_file();
    const std::uint64_t offset = take(round_up(length, kGranule));
    void* data = nullptr;
    try {
      data = map(offset, length);
    } catch (...) {
      give_back(offset, round_up(length, kGranule));
      throw;
    }
    keep(data, offset, length);
    return data;
  }

  void share(void* data, std::uint64_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    if (begin == 0 || begin % kPage != 0 || bytes == 0 || bytes % kPage != 0 || bytes > ~begin) {
      std::ostringstream address;
      address << data;
      throw Error(ErrorCode::invalid_argument, "share() needs whole pages: address and size must be multiples of " +
                                                   std::to_string(kPage) + " and not 0; got " + std::to_string(bytes) +
                                                   " bytes at " + address.str());
    }
    const std::scoped_lock lock(mutex_);
    check_private(data, bytes);
    require_file();
    const std::uint64_t offset = take(round_up(bytes, kGranule));
    try {
      void* copy = map(offset, bytes);
      std::memcpy(copy, data, bytes);
      // Replaces the pages in one step: other threads that read them see no gap.
      if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, data) == MAP_FAILED) {
        const int code = errno;
        munmap(copy, bytes);
        fail("share() cannot remap " + std::to_string(bytes) + " bytes", code);
      }
    } catch (...) {
      give_back(offset, round_up(bytes, kGranule));
      throw;
    }
    keep(data, offset, bytes);
  }

  void unshare(void* data) noexcept {
    free(data, [](void* shared, std::uint64_t length) {
      void* const copy = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (copy == MAP_FAILED) return false;
      std::memcpy(copy, shared, length);
      if (mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, shared) != MAP_FAILED) return true;
      munmap(copy, length);
      return false;
    });
  }

  void free(void* data) noexcept {
    free(data, [](void* shared, std::uint64_t length) { return munmap(shared, length) == 0; });
  }

  [[nodiscard]] spi::SharedFile file() const noexcept {
    return {descriptor_.load(std::memory_order_acquire), end_.load(std::memory_order_acquire), token_};
  }
  [[nodiscard]] const Directory& directory() const noexcept { return directory_; }

 private:
  struct Place {
    std::uint64_t offset;
    std::uint64_t length;
  };

  void keep(void* data, std::uint64_t offset, std::uint64_t length) {
    used_[data] = {offset, length};
    directory_.insert(reinterpret_cast<std::uintptr_t>(data), length, offset);
    spi::report_allocation(kOwner, data, length);
  }

  // `remove` unmaps the memory; if it fails, the range of the file stays in use.
  template <typename Remove>
  void free(void* data, const Remove& remove) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto entry = used_.find(data);
    if (entry == used_.end()) return;
    const auto [offset, length] = entry->second;
    directory_.erase(reinterpret_cast<std::uintptr_t>(data));
    used_.erase(entry);
    spi::report_free(kOwner, data, length);
    // A child made by fork() only removes its own mapping; the file and its content belong to the parent.
    if (!remove(data, length) || owner_ != getpid()) return;
    // Frees the pages, even if peers still have them mapped.
    punch(offset, length);
    try {
      give_back(offset, round_up(length, kGranule));
    } catch (const std::bad_alloc&) {  // the range of the file is lost, its pages are not
    }
  }

  // A child made by fork() opens its own file: in the parent's file both processes would allocate the same ranges.
  // Inherited allocations stay mapped, but are no longer shared.
  void require_file() {
    if (owner_ == getpid()) return;
    const int inherited = descriptor_.exchange(-1, std::memory_order_acq_rel);
    if (inherited >= 0) close(inherited);
    holes_.clear();
    used_.clear();
    directory_.clear();
    open();
    owner_ = getpid();
  }

  // The first granule holds only the token.
  void open() {
    const int descriptor = memfd_create("tutti.allocate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) fail("cannot create the file of shared allocations (memfd_create)", errno);
    const bool good = ftruncate(descriptor, static_cast<off_t>(kGranule)) == 0 &&
                      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) == 0 &&
                      getrandom(token_.data(), sizeof(token_), 0) == static_cast<ssize_t>(sizeof(token_)) &&
                      pwrite(descriptor, token_.data(), sizeof(token_), 0) == static_cast<ssize_t>(sizeof(token_));
    if (!good) {
      const int code = errno;
      close(descriptor);
      fail("cannot initialise the file of shared allocations", code);
    }
    end_.store(kGranule, std::memory_order_release);
    descriptor_.store(descriptor, std::memory_order_release);
  }

  // First fit; extends the file if no hole is large enough.
  std::uint64_t take(std::uint64_t length) {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < length) continue;
      const std::uint64_t offset = hole->first;
      const std::uint64_t rest = hole->second - length;
      holes_.erase(hole);
      if (rest > 0) holes_[offset + length] = rest;
      return offset;
    }
    const std::uint64_t offset = end_.load(std::memory_order_relaxed);
    if (ftruncate(descriptor_, static_cast<off_t>(offset + length)) != 0) {
      fail("cannot extend the file of shared allocations to " + std::to_string(offset + length) + " bytes", errno);
    }
    end_.store(offset + length, std::memory_order_release);
    return offset;
  }

  void give_back(std::uint64_t offset, std::uint64_t length) {
    const auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + length == next->first) {
      length += next->second;
      holes_.erase(next);
    }
    const auto after = holes_.lower_bound(offset);
    if (after != holes_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += length;
        return;
      }
    }
    holes_[offset] = length;
  }

  // Populates the pages now, on this thread's NUMA node: missing memory must be an error here and not a SIGBUS later.
  // Requests large pages first, which the system grants only for mapped memory.
  void* map(std::uint64_t offset, std::uint64_t length) {
    void* data = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(offset));
    if (data == MAP_FAILED) fail("cannot map " + std::to_string(length) + " bytes of shared memory", errno);
    if (length >= kGranule) madvise(data, length, MADV_HUGEPAGE);
    int code = madvise(data, length, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
    // Linux before 5.14 lacks MADV_POPULATE_WRITE.
    if (code == EINVAL) {
      do {
        code = posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length));
      } while (code == EINTR);
    }
    if (code == 0) return data;
    munmap(data, length);
    punch(offset, length);
    fail("cannot allocate " + std::to_string(length) + " bytes of shared memory", code == EFAULT ? ENOMEM : code);
  }

  // Rounds up, because a large page may extend beyond the requested length.
  void punch(std::uint64_t offset, std::uint64_t length) const noexcept {
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(round_up(length, kGranule)));
  }

  std::mutex mutex_;
  pid_t owner_ = 0;  // process that created the file
  std::atomic<int> descriptor_ = -1;
  std::atomic<std::uint64_t> end_ = 0;
  std::array<std::uint64_t, 2> token_ = {};  // written before descriptor_ is set
  std::map<std::uint64_t, std::uint64_t> holes_;
  std::map<void*, Place> used_;
  Directory directory_;
};

SharedMemory& shared_memory() {
  static auto* instance = new SharedMemory;  // never destroyed: an allocation may outlive static objects
  return *instance;
}

}  // namespace

namespace detail {
void* allocate_shared(std::size_t bytes) { return shared_memory().allocate(bytes); }
void free_shared(void* data) noexcept { shared_memory().free(data); }
void share(void* data, std::size_t bytes) { shared_memory().share(data, bytes); }
void unshare(void* data) noexcept { shared_memory().unshare(data); }
}  // namespace detail

namespace spi {
SharedFile shared_file() noexcept { return shared_memory().file(); }

std::uint64_t shared_offset(const void* data, std::uint64_t bytes) noexcept {
  return shared_memory().directory().offset_of(reinterpret_cast<std::uintptr_t>(data), bytes);
}
}  // namespace spi

}  // namespace tutti
