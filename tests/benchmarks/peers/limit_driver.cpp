// The limit of the memory: every rank maps the buffers of all ranks and does its part of the work in one pass. No
// library with ordinary memory can need less memory traffic; libraries that copy need more.
//
// usage: limit_driver SOCKET --stores plain|streaming --ranks N
#include <hwy/cache_control.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "driver.hpp"
#include "one_pass_kernel.hpp"

namespace tutti::bench {
namespace {

/// The buffers of all ranks and the barrier, mapped before the fork and so at the same address in each rank. Pages
/// exist from the first access until give_back().
class SharedRegion {
 public:
  explicit SharedRegion(int ranks) : ranks_(ranks) {
    memory_ = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no address space for the shared buffers");
    madvise(memory_, bytes(), MADV_HUGEPAGE);  // some systems refuse this; it then has no effect
    barrier_ = new (memory_) Barrier;
  }
  ~SharedRegion() { munmap(memory_, bytes()); }
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  [[nodiscard]] float* buffer(Peer::Role role, int rank) const {
    const int index = role == Peer::Role::input ? rank : ranks_ + rank;
    return reinterpret_cast<float*>(static_cast<std::byte*>(memory_) + kHeader +
                                    static_cast<std::size_t>(index) * kStride);
  }
  static void give_back(void* buffer) { madvise(buffer, kRoom, MADV_REMOVE); }

  void wait_for_all() const {
    const std::uint32_t phase = barrier_->phase.load(std::memory_order_relaxed);
    // acq_rel: the last rank has seen all earlier writes of the others, and publishes them with the phase.
    if (barrier_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(ranks_)) {
      barrier_->arrived.store(0, std::memory_order_relaxed);
      barrier_->phase.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; barrier_->phase.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins < kSpins) {
        hwy::Pause();
      } else {
        sched_yield();  // the missing rank may need this core
      }
    }
  }

 private:
  struct Barrier {
    alignas(64) std::atomic<std::uint32_t> arrived = 0;
    alignas(64) std::atomic<std::uint32_t> phase = 0;
  };
  static constexpr int kSpins = 2000;
  static constexpr std::size_t kHeader = std::size_t{2} << 20;
  static constexpr std::size_t kRoom = std::size_t{8} << 30;
  // Not a power of two, because the buffers would then compete for the same cache sets.
  static constexpr std::size_t kStride = kRoom + (std::size_t{2} << 20) + (68 << 10);

  [[nodiscard]] std::size_t bytes() const noexcept { return kHeader + 2 * static_cast<std::size_t>(ranks_) * kStride; }

  int ranks_;
  void* memory_ = nullptr;
  Barrier* barrier_ = nullptr;
};

class OnePassPeer : public Peer {
 public:
  OnePassPeer(const SharedRegion& region, int rank, int size, Writes stores)
      : region_(region), rank_(rank), size_(size), stores_(stores) {
    for (int r = 0; r < size; ++r) {
      inputs_.push_back(region.buffer(Role::input, r));
      outputs_.push_back(region.buffer(Role::output, r));
    }
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string version() const override { return "one pass over shared buffers, " + one_pass_unit(); }

  [[nodiscard]] void* allocate(Role role, std::size_t) override { return region_.buffer(role, rank_); }
  void release(Role, void* memory) override { SharedRegion::give_back(memory); }
  [[nodiscard]] void* allocate_fresh(Role role, std::size_t bytes) override { return allocate(role, bytes); }
  void release_fresh(Role role, void* memory, std::size_t) override { release(role, memory); }

  void barrier() override { region_.wait_for_all(); }

  // After the barrier before the call, all ranks have entered. They leave when all parts of the result are written.
  void run(const Workload& workload, const void*, void*) override {
    const std::size_t count = workload.count();
    switch (workload.op) {
      case Op::allreduce:
        share(count, inputs_, outputs_);
        break;
      case Op::allgather:
        pass({inputs_[own()]}, shifted(outputs_, own() * count), count);
        break;
      case Op::broadcast:
        share(count, {outputs_[0]}, {outputs_.begin() + 1, outputs_.end()});
        break;
      case Op::alltoall:
        for (std::size_t to = 0; to < outputs_.size(); ++to) {
          pass({inputs_[own()] + to * count}, {outputs_[to] + own() * count}, count);
        }
        break;
      case Op::gather:
        pass({inputs_[own()]}, {outputs_[0] + own() * count}, count);
        break;
      case Op::scatter:
        pass({inputs_[0] + own() * count}, {outputs_[own()]}, count);
        break;
      case Op::message:
        exchange(workload);
        break;
      case Op::reduce_scatter:
        pass(shifted(inputs_, own() * count), {outputs_[own()]}, count);
        break;
      case Op::barrier:
        break;
    }
    region_.wait_for_all();
  }

 private:
  using Pointers = std::vector<float*>;

  [[nodiscard]] std::size_t own() const noexcept { return static_cast<std::size_t>(rank_); }

  static Pointers shifted(Pointers pointers, std::size_t offset) {
    for (float*& pointer : pointers) pointer += offset;
    return pointers;
  }

  void pass(const Pointers& from, const Pointers& to, std::size_t count) const {
    const std::vector<const float*> inputs(from.begin(), from.end());
    one_pass(inputs, to, count, stores_);
  }

  /// Carries out this rank's part of a message, split at page boundaries.
  void share(std::size_t count, const Pointers& from, const Pointers& to) const {
    share(count, from, to, own(), static_cast<std::size_t>(size_));
  }
  void share(std::size_t count, const Pointers& from, const Pointers& to, std::size_t part, std::size_t parts) const {
    constexpr std::size_t kPage = 4096 / sizeof(float);
    const std::size_t pages = (count + kPage - 1) / kPage;
    const std::size_t begin = std::min(part * pages / parts * kPage, count);
    const std::size_t end = std::min((part + 1) * pages / parts * kPage, count);
    if (begin < end) pass(shifted(from, begin), shifted(to, begin), end - begin);
  }

  /// Two messages, there and back; both ranks of a pair carry out half of each.
  void exchange(const Workload& workload) const {
    const std::optional<int> partner = workload.partner(rank_);
    const auto even = static_cast<std::size_t>(rank_ & ~1);
    for (const std::size_t from : {even, even + 1}) {
      const std::size_t to = from == even ? even + 1 : even;
      if (partner) share(workload.count(), {inputs_[from]}, {outputs_[to]}, own() - even, 2);
      if (from == even) region_.wait_for_all();
    }
  }

  const SharedRegion& region_;
  int rank_;
  int size_;
  Writes stores_;
  Pointers inputs_;
  Pointers outputs_;
};

int drive_ranks(const char* socket, int ranks, Writes stores) {
  const SharedRegion region(ranks);
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  const auto play = [&](int rank) {
    return drive(socket, [&](RankLink&) { return std::make_unique<OnePassPeer>(region, rank, ranks, stores); });
  };
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      _exit(getppid() == parent ? play(rank) : 1);
    }
    children.push_back(child);
  }
  int code = play(0);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) code = 1;
  }
  return code;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  using namespace tutti::bench;
  if (argc != 6) return 2;
  const Writes stores = std::string_view(argv[3]) == "streaming" ? Writes::streaming : Writes::plain;
  return drive_ranks(argv[1], std::atoi(argv[5]), stores);
}
