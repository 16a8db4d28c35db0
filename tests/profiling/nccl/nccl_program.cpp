// Two ranks that are threads and call NCCL: nccl_program SEED. It counts its calls by itself and prints the counts.
#include <nccl.h>

#include <array>
#include <random>
#include <thread>

#include "profiling/support/expected_tally.hpp"

namespace {

constexpr int kRanks = 2;
constexpr std::size_t kMost = 4096;

tutti::test::ExpectedTally tally;
std::atomic<int> mistakes = 0;

ncclResult_t count_call(const std::string& name, ncclResult_t result, std::uint64_t bytes = 0) {
  tally.add("host|BACKEND_NCCL|" + name + "|", bytes, result != ncclSuccess);
  return result;
}

void count_operation(const std::string& function, const std::string& name, const std::string& type, std::uint64_t bytes,
                     std::uint64_t message, ncclResult_t result) {
  const std::string context = name + "/" + type + "/nccl//" + std::to_string(message) + "/" + std::to_string(kRanks);
  tally.add("host|BACKEND_NCCL|" + function + "|" + context, bytes, result != ncclSuccess);
  tally.add("operation|BACKEND_NCCL|" + name + "|" + context, bytes, result != ncclSuccess);
  mistakes += result != ncclSuccess ? 1 : 0;
}

void require(bool holds) { mistakes += holds ? 0 : 1; }

/// Every function once in a while, the same on both ranks.
void run_once(std::uint64_t choice, std::size_t count, int rank, ncclComm_t comm, cudaStream_t stream, float* in,
              float* out) {
  const std::uint64_t bytes = count * sizeof(float);
  switch (choice) {
    case 0:
      return count_operation("ncclAllReduce", "allreduce", "float32", bytes, bytes,
                             ncclAllReduce(in, out, count, ncclFloat32, ncclSum, comm, stream));
    case 1:
      return count_operation("ncclReduce", "reduce", "float32", bytes, bytes,
                             ncclReduce(in, out, count, ncclFloat32, ncclSum, 0, comm, stream));
    case 2:
      return count_operation("ncclBroadcast", "broadcast", "uint8", count, count,
                             ncclBroadcast(in, in, count, ncclUint8, 0, comm, stream));
    case 3:
      return count_operation("ncclBroadcast", "broadcast", "float32", bytes, bytes,
                             ncclBroadcast(in, out, count, ncclFloat32, 1, comm, stream));
    case 4:
      return count_operation("ncclReduceScatter", "reduce_scatter", "float32", bytes, bytes * kRanks,
                             ncclReduceScatter(in, out, count, ncclFloat32, ncclSum, comm, stream));
    case 5:
      return count_operation("ncclAllGather", "allgather", "float32", bytes, bytes * kRanks,
                             ncclAllGather(in, out, count, ncclFloat32, comm, stream));
    case 6: {
      require(count_call("ncclGroupStart", ncclGroupStart()) == ncclSuccess);
      count_operation("ncclSend", "send", "int8", count, count, ncclSend(in, count, ncclInt8, 1 - rank, comm, stream));
      count_operation("ncclRecv", "recv", "int8", count, count, ncclRecv(out, count, ncclInt8, 1 - rank, comm, stream));
      require(count_call("ncclGroupEnd", ncclGroupEnd()) == ncclSuccess);
      return;
    }
    default:
      return count_operation("ncclAllReduce", "allreduce", "float64", count / 2 * sizeof(double),
                             count / 2 * sizeof(double),
                             ncclAllReduce(in, out, count / 2, ncclFloat64, ncclMax, comm, stream));
  }
}

void run_rank(const ncclUniqueId& id, int rank, std::uint64_t seed) {
  require(cudaSetDevice(rank) == cudaSuccess);
  cudaStream_t stream = nullptr;
  require(cudaStreamCreate(&stream) == cudaSuccess);
  std::array<float*, 2> data{};
  for (float*& one : data)
    require(cudaMalloc(reinterpret_cast<void**>(&one), kMost * kRanks * sizeof(float)) == cudaSuccess);
  ncclComm_t comm = nullptr;
  require(count_call("ncclCommInitRank", ncclCommInitRank(&comm, kRanks, id, rank)) == ncclSuccess);
  int size = 0;
  require(count_call("ncclCommCount", ncclCommCount(comm, &size)) == ncclSuccess && size == kRanks);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t choice = random() % 8;
    run_once(choice, 2 + random() % (kMost - 2), rank, comm, stream, data[0], data[1]);
  }
  // An error: there is no such root.
  const ncclResult_t refused = ncclReduce(data[0], data[1], 1, ncclFloat32, ncclSum, 77, comm, stream);
  require(refused != ncclSuccess);
  count_operation("ncclReduce", "reduce", "float32", 4, 4, refused);
  mistakes -= 1;
  require(cudaStreamSynchronize(stream) == cudaSuccess);
  require(count_call("ncclCommDestroy", ncclCommDestroy(comm)) == ncclSuccess);
  for (float* one : data) require(cudaFree(one) == cudaSuccess);
  require(cudaStreamDestroy(stream) == cudaSuccess);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  int version = 0;
  require(count_call("ncclGetVersion", ncclGetVersion(&version)) == ncclSuccess);
  ncclUniqueId id = {};
  require(count_call("ncclGetUniqueId", ncclGetUniqueId(&id)) == ncclSuccess);
  std::array<std::thread, kRanks> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads[static_cast<std::size_t>(rank)] =
        std::thread(run_rank, std::cref(id), rank, std::strtoull(arguments[1], nullptr, 10));
  }
  for (std::thread& thread : threads) thread.join();
  tally.print();
  if (mistakes != 0) std::fprintf(stderr, "%d mistakes\n", mistakes.load());
  return mistakes == 0 ? 0 : 1;
}
