#include "launch.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>

#include "../cudart/fake_cudart.hpp"
#include "arithmetic.hpp"
#include "faults.hpp"

namespace tutti::test::fake_nccl {
namespace {

/// Header before the data of a task; detects ranks that call different operations.
struct Label {
  Kind kind;
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int root;
  std::uint64_t count;
  friend bool operator==(const Label&, const Label&) = default;
};

std::string text(const Label& label) {
  return std::string(name(label.kind)) + " of " + std::to_string(label.count) + " of type " +
         std::to_string(label.type) + ", operator " + std::to_string(label.reduction) + ", root " +
         std::to_string(label.root);
}

/// Bytes that go to or come from one rank.
struct Transfer {
  bool is_message;
  int peer;
  std::byte* data;
  std::size_t bytes;
  Label label;
  Label theirs = {};  ///< header of an incoming transfer
  std::size_t done = 0;
};

/// A kernel of NCCL, which carries out tasks.
class Kernel {
 public:
  Kernel(std::shared_ptr<ncclComm> comm, std::vector<Task> tasks, int number)
      : comm_(std::move(comm)), tasks_(std::move(tasks)), number_(number) {}

  [[nodiscard]] cudaStream_t stream() const noexcept { return tasks_.front().stream; }

  void run() {
    if (comm_->await_turn(number_)) carry_out();
    comm_->end_launch();
  }

 private:
  void carry_out() {
    if (dies_at(comm_->rank, number_)) std::raise(SIGKILL);
    if (fails_at(comm_->rank, number_)) {
      comm_->fail(ncclRemoteError, "fake NCCL: FAKE_NCCL_ASYNC_ERROR: the connection to a rank is lost");
      while (!comm_->is_aborted) std::this_thread::yield();
      return;
    }
    for (const Task& task : tasks_) plan(task);
    if (!is_broken_ && progress()) {
      for (const auto& finish : finishes_) finish();
      return;
    }
    // After an error, the kernel ends only with an abort.
    while (!comm_->is_aborted) std::this_thread::yield();
  }

  std::byte* access(const void* pointer, std::uint64_t bytes, ncclDataType_t type) {
    static std::byte nothing{};
    if (bytes == 0) return &nothing;
    if (reinterpret_cast<std::uintptr_t>(pointer) % size_of(type) != 0) {
      fake_cuda_violation("NCCL got a buffer that is not aligned to its type");
    }
    void* const view = fake_cuda_access(stream(), pointer, bytes);
    if (view == nullptr) {
      is_broken_ = true;
      comm_->fail(ncclUnhandledCudaError, "fake NCCL: the device cannot access a buffer");
    }
    return static_cast<std::byte*>(view);
  }

  Label label(const Task& task, Kind kind) const {
    // Each rank has its own numbers for user-defined operators.
    const ncclRedOp_t how = task.reduction >= ncclNumOps ? ncclNumOps : task.reduction;
    return {kind, task.type, how, kind == Kind::send ? comm_->rank : task.root, task.count};
  }
  void send(const Task& task, int peer, std::byte* data, std::size_t bytes) {
    outgoing_.push_back({is_message(task), peer, data, bytes, label(task, task.kind)});
  }
  void receive(const Task& task, int peer, std::byte* data, std::size_t bytes) {
    Label expected = label(task, task.kind == Kind::recv ? Kind::send : task.kind);
    if (task.kind == Kind::recv) expected.root = peer;
    incoming_.push_back({is_message(task), peer, data, bytes, expected});
  }
  static bool is_message(const Task& task) noexcept { return task.kind == Kind::send || task.kind == Kind::recv; }

  /// Messages of a rank to itself are copied directly; sends and receives match in the order of their calls.
  void plan_message(const Task& task, std::uint64_t bytes) {
    if (task.root != comm_->rank) {
      if (task.kind == Kind::send)
        send(task, task.root, access(task.input, bytes, task.type), bytes);
      else
        receive(task, task.root, access(task.output, bytes, task.type), bytes);
      return;
    }
    auto& mine = task.kind == Kind::send ? own_sent_ : own_received_;
    mine.push_back(task);
    const std::size_t last = mine.size() - 1;
    if (own_sent_.size() <= last || own_received_.size() <= last) return;
    const Task from = own_sent_[last];
    const Task to = own_received_[last];
    if (from.count * size_of(from.type) != to.count * size_of(to.type)) {
      return mismatch("a Send and a Recv of a rank to itself have different lengths");
    }
    std::byte* const source = access(from.input, bytes, from.type);
    std::byte* const target = access(to.output, bytes, to.type);
    finishes_.emplace_back([=] { std::memmove(target, source, bytes); });
  }

  void plan(const Task& task) {
    const std::uint64_t bytes = task.count * size_of(task.type);
    const int rank = comm_->rank;
    const int ranks = comm_->ranks;
    const bool is_root = rank == task.root;
    switch (task.kind) {
      case Kind::send:
      case Kind::recv:
        return plan_message(task, bytes);
      case Kind::broadcast: {
        if (!is_root) return receive(task, task.root, access(task.output, bytes, task.type), bytes);
        std::byte* const input = access(task.input, bytes, task.type);
        std::byte* const output = access(task.output, bytes, task.type);
        for (int peer = 0; peer < ranks; ++peer) {
          if (peer != rank) send(task, peer, input, bytes);
        }
        if (input != output) finishes_.emplace_back([=] { std::memmove(output, input, bytes); });
        return;
      }
      case Kind::all_gather: {
        std::byte* const input = access(task.input, bytes, task.type);
        std::byte* const output = access(task.output, bytes * static_cast<std::uint64_t>(ranks), task.type);
        for (int peer = 0; peer < ranks; ++peer) {
          if (peer == rank) continue;
          send(task, peer, input, bytes);
          receive(task, peer, output + bytes * static_cast<std::uint64_t>(peer), bytes);
        }
        std::byte* const own = output + bytes * static_cast<std::uint64_t>(rank);
        if (own != input) finishes_.emplace_back([=] { std::memmove(own, input, bytes); });
        return;
      }
      default:
        return plan_reduction(task, bytes);
    }
  }

  void plan_reduction(const Task& task, std::uint64_t bytes) {
    const int rank = comm_->rank;
    const int ranks = comm_->ranks;
    const bool scatters = task.kind == Kind::reduce_scatter;
    const auto blocks = static_cast<std::uint64_t>(scatters ? ranks : 1);
    std::byte* const input = access(task.input, bytes * blocks, task.type);
    const bool has_output = task.kind != Kind::reduce || rank == task.root;
    std::byte* const output = has_output ? access(task.output, bytes, task.type) : nullptr;
    const auto block_for = [=](int peer) {
      return scatters ? input + bytes * static_cast<std::uint64_t>(peer) : input;
    };
    auto inputs = std::make_shared<std::vector<std::vector<std::byte>>>(static_cast<std::size_t>(ranks));
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      if (task.kind != Kind::reduce || peer == task.root) send(task, peer, block_for(peer), bytes);
      if (!has_output) continue;
      auto& theirs = (*inputs)[static_cast<std::size_t>(peer)];
      theirs.resize(bytes);
      receive(task, peer, theirs.data(), bytes);
    }
    if (!has_output) return;
    finishes_.emplace_back([=, own = block_for(rank)] {
      std::vector<const std::byte*> all;
      for (int peer = 0; peer < ranks; ++peer) {
        all.push_back(peer == rank ? own : (*inputs)[static_cast<std::size_t>(peer)].data());
      }
      combine(task, all, output);
    });
  }

  /// Runs all transfers to their end; false after an error or an abort.
  bool progress() {
    while (true) {
      bool is_done = true;
      bool has_moved = false;
      for (auto* side : {&outgoing_, &incoming_}) {
        // Of the transfers that share a ring, only the first that is not done may move.
        std::vector<std::pair<bool, int>> busy;
        for (Transfer& one : *side) {
          if (one.done == sizeof(Label) + one.bytes) continue;
          is_done = false;
          const std::pair key(one.is_message, one.peer);
          if (std::find(busy.begin(), busy.end(), key) != busy.end()) continue;
          busy.push_back(key);
          has_moved = move(one, side == &outgoing_) || has_moved;
          if (is_broken_) return false;
        }
      }
      if (is_done) return true;
      if (comm_->is_aborted) return false;
      if (!has_moved) std::this_thread::yield();
    }
  }

  bool move(Transfer& one, bool is_outgoing) {
    const int rank = comm_->rank;
    Ring& ring = is_outgoing ? comm_->segment->ring(one.is_message, rank, one.peer)
                             : comm_->segment->ring(one.is_message, one.peer, rank);
    const std::size_t before = one.done;
    if (one.done < sizeof(Label)) {
      auto* const bytes = reinterpret_cast<std::byte*>(is_outgoing ? &one.label : &one.theirs);
      const std::size_t left = sizeof(Label) - one.done;
      one.done += is_outgoing ? ring.write(bytes + one.done, left) : ring.read(bytes + one.done, left);
      if (one.done < sizeof(Label)) return one.done != before;
      if (!is_outgoing && !(one.theirs == one.label)) {
        mismatch("rank " + std::to_string(one.peer) + " has " + text(one.theirs) + " where rank " +
                 std::to_string(rank) + " has " + text(one.label));
        return true;
      }
    }
    const std::size_t at = one.done - sizeof(Label);
    const std::size_t left = one.bytes - at;
    one.done += is_outgoing ? ring.write(one.data + at, left) : ring.read(one.data + at, left);
    return one.done != before;
  }

  void mismatch(const std::string& what) {
    fake_cuda_violation(("the ranks of NCCL call different operations: " + what).c_str());
    comm_->fail(ncclInvalidUsage, "fake NCCL: " + what);
    is_broken_ = true;
  }

  std::shared_ptr<ncclComm> comm_;
  std::vector<Task> tasks_;
  int number_;
  std::vector<Transfer> outgoing_;
  std::vector<Transfer> incoming_;
  std::vector<Task> own_sent_;
  std::vector<Task> own_received_;
  std::vector<std::function<void()>> finishes_;
  bool is_broken_ = false;
};

/// Makes `stream` wait for the work that is enqueued on `other` so far.
void order(cudaStream_t stream, cudaStream_t other) {
  cudaEvent_t event = nullptr;
  (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  (void)cudaEventRecord(event, other);
  (void)cudaStreamWaitEvent(stream, event, 0);
  (void)cudaEventDestroy(event);
}

}  // namespace

ncclResult_t launch(const std::shared_ptr<ncclComm>& comm, std::vector<Task> tasks) {
  int previous = 0;
  (void)cudaGetDevice(&previous);
  (void)cudaSetDevice(comm->device);
  std::vector<cudaStream_t> others;
  for (const Task& task : tasks) {
    if (task.stream == tasks.front().stream) continue;
    if (std::find(others.begin(), others.end(), task.stream) == others.end()) others.push_back(task.stream);
  }
  const cudaStream_t first = tasks.front().stream;
  for (const cudaStream_t other : others) order(first, other);
  auto* const kernel = new Kernel(comm, std::move(tasks), comm->begin_launch());
  const cudaError_t error = fake_cuda_launch(
      first,
      [](void* body) {
        auto* const owned = static_cast<Kernel*>(body);
        owned->run();
        delete owned;
      },
      kernel);
  for (const cudaStream_t other : others) order(other, first);
  (void)cudaSetDevice(previous);
  if (error == cudaSuccess) return ncclSuccess;
  comm->end_launch();
  delete kernel;
  comm->fail(ncclUnhandledCudaError, std::string("fake NCCL: ") + cudaGetErrorString(error));
  return ncclUnhandledCudaError;
}

}  // namespace tutti::test::fake_nccl
