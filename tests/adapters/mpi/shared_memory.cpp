// Memory of a program in the ways that programs get and change it, for the library that shares it. Prints "wrong: ..."
// lines, then the numbers of shared blocks, and reduces blocks of each kind.
#include <dlfcn.h>
#include <malloc.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{3} << 20;
constexpr std::size_t kPage = 4096;

void expect(bool good, const char* text) {
  if (!good) std::printf("wrong: %s\n", text);
}
bool is_filled(const void* data, unsigned char value, std::size_t bytes) {
  const auto* const at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i)
    if (at[i] != value) return false;
  return true;
}

struct Numbers {
  std::uint64_t shared = 0;
  std::uint64_t ordinary = 0;
  std::uint64_t present = 0;
};
Numbers numbers() {
  Numbers found;
  const auto ask = reinterpret_cast<void (*)(std::uint64_t*, std::uint64_t*, std::uint64_t*)>(
      dlsym(RTLD_DEFAULT, "tutti_shared_blocks"));
  if (ask != nullptr) ask(&found.shared, &found.ordinary, &found.present);
  return found;
}

void heap() {
  auto* data = static_cast<unsigned char*>(std::calloc(kBytes, 1));
  expect(is_filled(data, 0, kBytes), "calloc() is not zero");
  std::memset(data, 5, kBytes);
  data = static_cast<unsigned char*>(std::realloc(data, 2 * kBytes));
  expect(is_filled(data, 5, kBytes), "realloc() lost data when it grew");
  std::memset(data, 6, 2 * kBytes);
  data = static_cast<unsigned char*>(std::realloc(data, 100));
  expect(is_filled(data, 6, 100), "realloc() lost data when it shrank");
  data = static_cast<unsigned char*>(std::realloc(data, kBytes));
  expect(is_filled(data, 6, 100), "realloc() lost data when it grew from a small block");
  std::free(data);
  for (const std::size_t alignment : {std::size_t{64}, kPage, std::size_t{1} << 21}) {
    void* aligned = nullptr;
    expect(posix_memalign(&aligned, alignment, kBytes) == 0, "posix_memalign() failed");
    expect(reinterpret_cast<std::uintptr_t>(aligned) % alignment == 0, "posix_memalign() did not align");
    expect(malloc_usable_size(aligned) >= kBytes, "malloc_usable_size() is too small");
    std::memset(aligned, 1, kBytes);
    std::free(aligned);
    aligned = std::aligned_alloc(alignment, kBytes + (std::size_t{1} << 21));
    expect(reinterpret_cast<std::uintptr_t>(aligned) % alignment == 0, "aligned_alloc() did not align");
    std::free(aligned);
  }
  void* volatile huge = std::malloc(std::size_t{1} << 62);
  expect(huge == nullptr, "malloc() of 4 EiB succeeded");
  std::vector<std::unique_ptr<unsigned char[]>> many;
  for (int i = 0; i < 20; ++i) many.push_back(std::make_unique<unsigned char[]>(kBytes / 2));
  for (int i = 0; i < 20; ++i) std::memset(many[static_cast<std::size_t>(i)].get(), i, kBytes / 2);
  for (int i = 0; i < 20; ++i)
    expect(is_filled(many[static_cast<std::size_t>(i)].get(), static_cast<unsigned char>(i), kBytes / 2),
           "blocks overlap");
}

unsigned char* map(std::size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<unsigned char*>(data);
}

void mappings() {
  unsigned char* data = map(kBytes);
  expect(is_filled(data, 0, kBytes), "mmap() is not zero");
  std::memset(data, 2, kBytes);
  expect(munmap(data, kBytes) == 0, "munmap() failed");
  // A part of it only, as allocators trim their blocks.
  data = map(kBytes);
  std::memset(data, 3, kBytes);
  expect(munmap(data, kPage) == 0 && munmap(data + kBytes - kPage, kPage) == 0, "munmap() of the ends failed");
  expect(is_filled(data + kPage, 3, kBytes - 2 * kPage), "munmap() of the ends changed the rest");
  unsigned char* other = map(kBytes);
  std::memset(other, 4, kBytes);
  expect(munmap(data + kPage, kBytes - 2 * kPage) == 0, "munmap() of the rest failed");
  expect(is_filled(other, 4, kBytes), "munmap() of the rest changed another mapping");
  other = static_cast<unsigned char*>(mremap(other, kBytes, 2 * kBytes, MREMAP_MAYMOVE));
  expect(other != MAP_FAILED && is_filled(other, 4, kBytes) && is_filled(other + kBytes, 0, kBytes), "mremap()");
  munmap(other, 2 * kBytes);
  data = map(kBytes);
  std::memset(data, 8, kBytes);
  expect(madvise(data, kPage, MADV_DONTNEED) == 0 && is_filled(data, 0, kPage), "MADV_DONTNEED kept the content");
  expect(is_filled(data + kPage, 8, kBytes - kPage), "MADV_DONTNEED of a page changed others");
  munmap(data, kBytes);
}

void threads() {
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker)
    workers.emplace_back([worker] {
      for (int round = 0; round < 50; ++round) {
        const std::vector<unsigned char> data(kBytes / 2 + static_cast<std::size_t>(round) * 77,
                                              static_cast<unsigned char>(worker + 1));
        expect(is_filled(data.data(), static_cast<unsigned char>(worker + 1), data.size()), "blocks of threads");
      }
    });
  for (std::thread& worker : workers) worker.join();
}

void child() {
  std::vector<unsigned char> data(kBytes, 7);
  const pid_t pid = fork();
  if (pid == 0) {
    const bool has_content = is_filled(data.data(), 7, kBytes);
    std::memset(data.data(), 9, kBytes);
    const std::vector<unsigned char> own(kBytes, 3);
    data = {};
    std::_Exit(has_content && is_filled(own.data(), 3, kBytes) ? 5 : 6);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 5, "the child of fork()");
  expect(is_filled(data.data(), 7, kBytes), "a child wrote to its parent's memory");
}

void reduce(float* in, float* out, const char* name) {
  constexpr int kCount = kBytes / sizeof(float);
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kCount; ++i) in[i] = static_cast<float>(i % 251 + round);
    MPI_Allreduce(in, out, kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    bool good = true;
    for (int i = 0; i < kCount; ++i) good = good && out[i] == static_cast<float>(size * (i % 251 + round));
    expect(good, name);
  }
}

void reductions() {
  std::vector<float> in(kBytes / sizeof(float));
  std::vector<float> out(in.size());
  reduce(in.data(), out.data(), "allreduce of vectors");
  unsigned char* const mapped = map(2 * kBytes);
  reduce(reinterpret_cast<float*>(mapped), reinterpret_cast<float*>(mapped + kBytes), "allreduce of a mapping");
  madvise(mapped, kPage, MADV_DONTNEED);
  reduce(reinterpret_cast<float*>(mapped), reinterpret_cast<float*>(mapped + kBytes), "allreduce of a parted mapping");
  munmap(mapped, 2 * kBytes);
}

/// UCX as a program opens it in the middle of its run: its memory hooks write jumps into munmap() and others.
class LateHooks {
 public:
  /// False without UCX.
  static bool set() {
    void* const library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    using Handler = void (*)(int, void*, void*);
    const auto handle = reinterpret_cast<int (*)(int, int, Handler, void*)>(dlsym(library, "ucm_set_event_handler"));
    constexpr int kUnmapped = 1 << 17;
    return handle != nullptr && handle(
                                    kUnmapped, 0, [](int, void*, void*) { ++seen; }, nullptr) == 0;
  }
  static inline int seen = 0;
};

/// Whether the system has the address in memory that processes share.
bool is_shared(const void* data) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char* end = nullptr;
    const std::uintptr_t from = std::strtoull(line.c_str(), &end, 16);
    const std::uintptr_t to = std::strtoull(end + 1, &end, 16);
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    if (at >= from && at < to) return end[4] == 's';  // " rw-s"
  }
  return false;
}

/// Mappings that are freed, partly freed and made again behind hooks that came when they were shared.
void mappings_behind_late_hooks() {
  unsigned char* const freed = map(2 * kBytes);
  unsigned char* const trimmed = map(2 * kBytes);
  unsigned char* const kept = map(2 * kBytes);
  const auto halves = [](unsigned char* data, const char* name) {
    reduce(reinterpret_cast<float*>(data), reinterpret_cast<float*>(data + kBytes), name);
  };
  for (unsigned char* const data : {freed, trimmed, kept}) halves(data, "allreduce of a mapping before the hooks");
  const auto shared = [&] {
    return static_cast<int>(is_shared(freed)) + static_cast<int>(is_shared(trimmed)) +
           static_cast<int>(is_shared(kept));
  };
  const int before = shared();
  std::memset(kept, 6, 2 * kBytes);
  const bool has_hooks = LateHooks::set();
  const int afterwards = shared();
  expect(is_filled(kept, 6, 2 * kBytes), "the hooks changed a mapping");
  halves(kept, "allreduce of a mapping behind the hooks");
  munmap(freed, 2 * kBytes);
  munmap(trimmed + kBytes, kBytes);
  // The places that became free, as memory of this process alone.
  unsigned char* const again = map(2 * kBytes);
  unsigned char* const behind = map(kBytes);
  expect(is_filled(again, 0, 2 * kBytes) && is_filled(behind, 0, kBytes), "a new mapping is not zero");
  halves(again, "allreduce of a mapping at a place of a freed one");
  reduce(reinterpret_cast<float*>(trimmed), reinterpret_cast<float*>(behind), "allreduce of a trimmed mapping");
  std::printf("late hooks: set %d, calls seen %d, shared before %d, mappings shared afterwards %d\n", has_hooks ? 1 : 0,
              LateHooks::seen, before, afterwards);
  std::fflush(stdout);
}

/// A mapping from before MPI begins, which MPI's own hooks must not lose.
bool is_old_mapping_freed(unsigned char* data) {
  const bool good = is_filled(data, 3, kBytes) && munmap(data, kBytes) == 0;
  // The same place again, as ordinary memory: the system gives the place that became free.
  unsigned char* const again = map(kBytes);
  const bool is_clean = is_filled(again, 0, kBytes);
  munmap(again, kBytes);
  return good && is_clean;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) {  // "late-hooks"
    MPI_Init(&count, &words);
    mappings_behind_late_hooks();
    MPI_Finalize();
    return 0;
  }
  const Numbers before = numbers();
  unsigned char* const old = map(kBytes);
  std::memset(old, 3, kBytes);
  heap();
  const Numbers after_heap = numbers();
  mappings();
  const Numbers after_mappings = numbers();
  threads();
  child();
  MPI_Init(&count, &words);
  reductions();
  child();
  mappings();
  heap();
  expect(is_old_mapping_freed(old), "a mapping from before MPI_Init");
  const Numbers end = numbers();
  std::printf("shared: heap %d, mappings %d, all %d, ordinary %d, present %d, before %d\n",
              static_cast<int>(after_heap.shared - before.shared),
              static_cast<int>(after_mappings.shared - after_heap.shared), static_cast<int>(end.shared),
              static_cast<int>(end.ordinary), static_cast<int>(end.present), static_cast<int>(before.present));
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
