// A rank that calls oneCCL's C interface itself: ccl_c_program RANK SIZE FILE SEED; FILE passes the id of rank 0 on. It
// counts its calls by itself and prints the counts.
#include <oneapi/ccl.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "profiling/support/expected_tally.hpp"

namespace {

tutti::test::ExpectedTally tally;

void require(onecclResult_t result) {
  if (result != onecclSuccess) std::exit(4);
}

void count_call(const std::string& name) { tally.add("host|BACKEND_CCL|" + name + "|", 0, false); }

/// An operation is a host call and an operation.
void count_operation(const std::string& function, const std::string& name, std::uint64_t bytes, std::uint64_t message,
                     int ranks) {
  const std::string context = name + "/float32/ccl//" + std::to_string(message) + "/" + std::to_string(ranks);
  tally.add("host|BACKEND_CCL|" + function + "|" + context, bytes, false);
  tally.add("operation|BACKEND_CCL|" + name + "|" + context, bytes, false);
}

onecclUniqueId meet(int rank, const std::string& file) {
  onecclUniqueId id;
  if (rank == 0) {
    require(onecclGetUniqueId(&id));
    count_call("onecclGetUniqueId");
    std::ofstream(file + ".new", std::ios::binary).write(id.data, sizeof(id.data));
    std::filesystem::rename(file + ".new", file);
    return id;
  }
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::ifstream(file, std::ios::binary).read(id.data, sizeof(id.data));
  return id;
}

void run_once(onecclComm_t comm, int ranks, std::uint64_t choice, std::size_t count) {
  const auto size = static_cast<std::size_t>(ranks);
  const std::uint64_t bytes = count * sizeof(float);
  std::vector<float> block(count, 1.0F);
  std::vector<float> other(count);
  std::vector<float> blocks(count * size, 1.0F);
  std::vector<float> more(count * size);
  switch (choice) {
    case 0:
      require(onecclAllReduce(block.data(), other.data(), count, onecclFloat32, onecclSum, comm, nullptr));
      return count_operation("onecclAllReduce", "allreduce", bytes, bytes, ranks);
    case 1:
      require(onecclAllGather(block.data(), blocks.data(), count, onecclFloat32, comm, nullptr));
      return count_operation("onecclAllGather", "allgather", bytes, bytes * size, ranks);
    case 2:
      require(onecclAllToAll(blocks.data(), more.data(), count, onecclFloat32, comm, nullptr));
      return count_operation("onecclAllToAll", "alltoall", bytes, bytes * size, ranks);
    case 3:
      require(onecclBroadcast(block.data(), other.data(), count, onecclFloat32, 0, comm, nullptr));
      return count_operation("onecclBroadcast", "broadcast", bytes, bytes, ranks);
    case 4:
      require(onecclReduce(block.data(), other.data(), count, onecclFloat32, onecclSum, 0, comm, nullptr));
      return count_operation("onecclReduce", "reduce", bytes, bytes, ranks);
    default:
      require(onecclReduceScatter(blocks.data(), other.data(), count, onecclFloat32, onecclSum, comm, nullptr));
      return count_operation("onecclReduceScatter", "reduce_scatter", bytes, bytes * size, ranks);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int rank = std::atoi(arguments[1]);
  const int size = std::atoi(arguments[2]);
  const onecclUniqueId id = meet(rank, arguments[3]);
  onecclComm_t comm = nullptr;
  require(onecclCommInitRank(&comm, static_cast<std::size_t>(size), id, rank));
  count_call("onecclCommInitRank");
  std::mt19937_64 random(std::strtoull(arguments[4], nullptr, 10));
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t choice = random() % 6;
    run_once(comm, size, choice, 1 + random() % 2000);
  }
  require(onecclCommDestroy(comm));
  count_call("onecclCommDestroy");
  tally.print();
  return 0;
}
