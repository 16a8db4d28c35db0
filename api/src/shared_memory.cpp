#include "tutti/spi/shared_memory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "file_holes.hpp"
#include "shared_directory.hpp"
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

/// The shared file and the allocations in it.
///
/// fork(). The child must neither write to its parent's memory nor allocate in its parent's file. The handlers hold the
/// lock during the fork, so that the child finds complete tables, and the child maps every range of the file again,
/// privately: it reads the content, and its writes stay with it. The handlers only make system calls.
class SharedMemory {
 public:
  void hold_for_fork() noexcept { mutex_.lock(); }
  void go_on_after_fork() noexcept { mutex_.unlock(); }
  void part_from_parent() noexcept {
    for (auto& [begin, range] : ranges_) {
      if (range.length == 0) continue;
      void* const at = reinterpret_cast<void*>(begin);
      const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
      if (mmap(at, range.length, PROT_READ | PROT_WRITE, flags, descriptor_, static_cast<off_t>(range.offset)) ==
          MAP_FAILED) {
        mprotect(at, range.length, PROT_READ);  // a fault in the child is better than wrong data in the parent
      }
      range.length = 0;  // private from now on, also for a child of the child
    }
    for (auto& [data, place] : used_) place.inherited = true;
    directory_.clear();
    // The lock belongs to the thread of the parent that forked, so this one cannot release it.
    std::construct_at(&mutex_);
  }

  void* allocate(std::uint64_t bytes) {
    check_size(bytes);
    const std::uint64_t length = round_up(std::max<std::uint64_t>(bytes, 1), kPage);
    const std::scoped_lock lock(mutex_);
    require_file();
    const std::uint64_t offset = take(round_up(length, kGranule));
    try {
      void* const data = map(offset, length);
      try {
        keep(data, offset, length, bytes);
      } catch (...) {
        munmap(data, length);
        punch(offset, length);
        throw;
      }
      return data;
    } catch (...) {
      holes_.add(offset, round_up(length, kGranule));
      throw;
    }
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
      void* const copy = map(offset, bytes);
      std::memcpy(copy, data, bytes);
      try {
        keep(data, offset, bytes, bytes);
        if (!replace(data, copy, bytes)) {
          const int code = errno;
          forget(data);
          fail("share() cannot remap " + std::to_string(bytes) + " bytes", code);
        }
        announce_replacement(data, bytes);
      } catch (...) {
        munmap(copy, bytes);
        punch(offset, bytes);
        throw;
      }
    } catch (...) {
      holes_.add(offset, round_up(bytes, kGranule));
      throw;
    }
  }

  void unshare(void* data) noexcept {
    free(data, [](void* shared, const Place& place) {
      // The pages of a child made by fork() are private already.
      return place.inherited || make_private(shared, place.length);
    });
  }

  void free(void* data) noexcept {
    free(data, [](void* shared, const Place& place) { return munmap(shared, place.length) == 0; });
  }

  bool detach(void* data, std::uint64_t bytes) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto next = used_.upper_bound(data);
    if (next == used_.begin()) return false;
    const auto& [start, place] = *std::prev(next);
    const auto begin = reinterpret_cast<std::uintptr_t>(start);
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    if (place.inherited || first + bytes > begin + place.bytes) return false;
    // The file range of the allocation is not used again: processes may write to it at any time.
    directory_.erase(begin);
    std::prev(next)->second.retired = true;
    // Pages that hold other data too stay where they are: other threads and ranks may be writing to it.
    const std::uintptr_t from = round_up(first, kPage);
    const bool is_at_end = first + bytes == begin + place.bytes;
    const std::uintptr_t to = is_at_end ? begin + place.length : (first + bytes) / kPage * kPage;
    return from >= to || detach_pages(from, to);
  }

  [[nodiscard]] spi::SharedFile file() const noexcept {
    return {descriptor_.load(std::memory_order_acquire), end_.load(std::memory_order_acquire), token_};
  }
  [[nodiscard]] const SharedDirectory& directory() const noexcept { return directory_; }

 private:
  /// An allocation.
  struct Place {
    std::uint64_t offset;
    std::uint64_t length;    // whole pages
    std::uint64_t bytes;     // as requested
    bool inherited = false;  // by fork(): the file and its content belong to the parent
    bool retired = false;    // its range of the file is never used again
  };
  /// A part of an allocation that is mapped from the file: all of it, but for detached pages.
  struct Range {
    std::uint64_t offset;
    std::uint64_t length;
  };

  void keep(void* data, std::uint64_t offset, std::uint64_t length, std::uint64_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    ranges_.insert_or_assign(begin, Range{offset, length});
    try {
      used_.insert_or_assign(data, Place{offset, length, bytes});
    } catch (...) {
      ranges_.erase(begin);
      throw;
    }
    directory_.insert(begin, length, offset);
    spi::report_allocation(kOwner, data, length);
  }

  // Returns the description that keep() was given.
  std::optional<Place> forget(void* data) noexcept {
    const auto entry = used_.find(data);
    if (entry == used_.end()) return std::nullopt;
    const Place place = entry->second;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    directory_.erase(begin);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(begin + place.length));
    used_.erase(entry);
    spi::report_free(kOwner, data, place.length);
    return place;
  }

  // `remove` unmaps the memory; if it fails, the range of the file stays in use.
  template <typename Remove>
  void free(void* data, const Remove& remove) noexcept {
    const std::scoped_lock lock(mutex_);
    const std::optional<Place> place = forget(data);
    if (!place || !remove(data, *place) || place->inherited) return;
    // Frees the pages, even if peers still have them mapped.
    punch(place->offset, place->length);
    if (place->retired) return;
    try {
      holes_.add(place->offset, round_up(place->length, kGranule));
    } catch (const std::bad_alloc&) {  // the range of the file is lost, its pages are not
    }
  }

  // Replaces pages in one step: other threads that read them see no gap. Not by mremap(): the network library UCX,
  // which other libraries bring along, puts a function in its place that loses the address; other memory would be
  // overwritten.
  static bool replace(void* pages, void* by, std::uint64_t length) noexcept {
    return syscall(SYS_mremap, by, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, pages) ==
           static_cast<long>(reinterpret_cast<std::intptr_t>(pages));
  }

  // Libraries that register memory with network devices watch madvise() and forget the old pages. Call while the pages
  // are those of the file, whose content stays.
  static void announce_replacement(void* pages, std::uint64_t length) noexcept {
    madvise(pages, length, MADV_DONTNEED);
  }

  static bool make_private(void* pages, std::uint64_t length) noexcept {
    void* const copy = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) return false;
    std::memcpy(copy, pages, length);
    announce_replacement(pages, length);
    if (replace(pages, copy, length)) return true;
    munmap(copy, length);
    return false;
  }

  // Pages that were detached before are in no range.
  bool detach_pages(std::uintptr_t from, std::uintptr_t to) noexcept {
    auto entry = ranges_.upper_bound(from);
    if (entry != ranges_.begin()) --entry;
    while (entry != ranges_.end() && entry->first < to) {
      const auto next = std::next(entry);
      const std::uintptr_t begin = std::max(from, entry->first);
      const std::uintptr_t end = std::min(to, entry->first + entry->second.length);
      if (begin < end && !detach_pages(entry, begin, end)) return false;
      entry = next;
    }
    return true;
  }

  bool detach_pages(std::map<std::uintptr_t, Range>::iterator entry, std::uintptr_t from, std::uintptr_t to) noexcept {
    const auto [begin, range] = *entry;
    const bool has_rest = to < begin + range.length;
    try {
      if (has_rest) ranges_[to] = {range.offset + (to - begin), begin + range.length - to};
    } catch (const std::bad_alloc&) {
      return false;
    }
    if (!make_private(reinterpret_cast<void*>(from), to - from)) {
      if (has_rest) ranges_.erase(to);
      return false;
    }
    if (from == begin)
      ranges_.erase(entry);
    else
      entry->second.length = from - begin;
    punch_pages(range.offset + (from - begin), to - from);
    return true;
  }

  // A child made by fork() opens its own file: in the parent's file both processes would allocate the same ranges.
  void require_file() {
    if (owner_ == getpid()) return;
    const int inherited = descriptor_.exchange(-1, std::memory_order_acq_rel);
    if (inherited >= 0) close(inherited);
    holes_ = {};
    ranges_.clear();
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

  // Extends the file if no hole is large enough.
  std::uint64_t take(std::uint64_t length) {
    if (const auto hole = holes_.take(length)) return *hole;
    const std::uint64_t offset = end_.load(std::memory_order_relaxed);
    if (ftruncate(descriptor_, static_cast<off_t>(offset + length)) != 0) {
      fail("cannot extend the file of shared allocations to " + std::to_string(offset + length) + " bytes", errno);
    }
    end_.store(offset + length, std::memory_order_release);
    return offset;
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
    fail("cannot allocate " + std::to_string(length) +
             " bytes of shared memory (free memory, or raise the memory limit of the container or cgroup)",
         code == EFAULT ? ENOMEM : code);
  }

  // Rounds up, because a large page may extend beyond the requested length.
  void punch(std::uint64_t offset, std::uint64_t length) const noexcept {
    punch_pages(offset, round_up(length, kGranule));
  }
  void punch_pages(std::uint64_t offset, std::uint64_t length) const noexcept {
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(length));
  }

  std::recursive_mutex mutex_;  // recursive: an observer of an allocation may fork
  pid_t owner_ = 0;             // process that created the file
  std::atomic<int> descriptor_ = -1;
  std::atomic<std::uint64_t> end_ = 0;
  std::array<std::uint64_t, 2> token_ = {};  // written before descriptor_ is set
  FileHoles holes_;
  std::map<void*, Place> used_;
  std::map<std::uintptr_t, Range> ranges_;
  SharedDirectory directory_;
};

SharedMemory& shared_memory() {
  // Never destroyed: an allocation may outlive static objects. In static storage, because functions that throw nothing
  // may be the first to use it.
  alignas(SharedMemory) static std::array<std::byte, sizeof(SharedMemory)> storage;
  static SharedMemory* const instance = [] {
    auto* const created = new (storage.data()) SharedMemory;
    pthread_atfork([] { shared_memory().hold_for_fork(); }, [] { shared_memory().go_on_after_fork(); },
                   [] { shared_memory().part_from_parent(); });
    return created;
  }();
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

bool detach_shared(void* data, std::uint64_t bytes) noexcept { return shared_memory().detach(data, bytes); }
}  // namespace spi

}  // namespace tutti
