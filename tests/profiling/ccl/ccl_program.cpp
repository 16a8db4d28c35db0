// A rank that calls oneCCL itself: ccl_program RANK SIZE FILE SEED; FILE passes the address of rank 0 on. It counts its
// calls by itself and prints the counts.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <oneapi/ccl.hpp>
#include <random>
#include <thread>

#include "profiling/support/expected_tally.hpp"

namespace {

tutti::test::ExpectedTally tally;

void count_call(const std::string& name, bool failed = false) {
  tally.add("host|BACKEND_CCL|" + name + "|", 0, failed);
}

/// An operation is a host call and an operation.
void count_operation(const std::string& name, const std::string& type, std::uint64_t bytes, std::uint64_t message,
                     int ranks, bool failed = false) {
  const std::string context = name + "/" + type + "/ccl//" + std::to_string(message) + "/" + std::to_string(ranks);
  tally.add("host|BACKEND_CCL|" + name + "|" + context, bytes, failed);
  tally.add("operation|BACKEND_CCL|" + name + "|" + context, bytes, failed);
}

void wait(ccl::event event) {
  event.wait();
  count_call("event::wait");
}

ccl::shared_ptr_class<ccl::kvs> meet(int rank, const std::string& file) {
  if (rank == 0) {
    auto kvs = ccl::create_main_kvs();
    count_call("create_main_kvs");
    const auto address = kvs->get_address();
    std::ofstream(file + ".new", std::ios::binary).write(address.data(), address.size());
    std::filesystem::rename(file + ".new", file);
    return kvs;
  }
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ccl::kvs::address_type address{};
  std::ifstream(file, std::ios::binary).read(address.data(), address.size());
  count_call("create_kvs");
  return ccl::create_kvs(address);
}

/// Rank 0 serves oneCCL's store, which the other ranks need until they have been refused.
void leave_together(int rank, int size, const std::string& file) {
  std::ofstream(file + std::to_string(rank)) << "left\n";
  for (int other = 1; rank == 0 && other < size; ++other) {
    while (!std::ifstream(file + std::to_string(other))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void run_once(const ccl::communicator& comm, std::uint64_t choice, std::size_t count) {
  const int ranks = comm.size();
  const auto size = static_cast<std::size_t>(ranks);
  const std::uint64_t bytes = count * sizeof(float);
  std::vector<float> block(count, 1.0F);
  std::vector<float> other(count);
  std::vector<float> blocks(count * size, 1.0F);
  std::vector<float> more(count * size);
  const std::vector<std::size_t> counts(size, count);
  constexpr auto kType = ccl::datatype::float32;
  switch (choice) {
    case 0:
      count_operation("allreduce", "float32", bytes, bytes, ranks);
      return wait(ccl::allreduce(block.data(), other.data(), count, kType, ccl::reduction::sum, comm));
    case 1:
      count_operation("allreduce", "float32", bytes, bytes, ranks);
      return wait(ccl::allreduce(block.data(), other.data(), count, ccl::reduction::sum, comm));
    case 2:
      count_operation("allgather", "float32", bytes, bytes * size, ranks);
      return wait(ccl::allgather(block.data(), blocks.data(), count, kType, comm));
    case 3:
      count_operation("allgatherv", "float32", bytes, bytes * size, ranks);
      return wait(ccl::allgatherv(block.data(), count, blocks.data(), counts, kType, comm));
    case 4:
      count_operation("alltoall", "float32", bytes, bytes * size, ranks);
      return wait(ccl::alltoall(blocks.data(), more.data(), count, kType, comm));
    case 5:
      count_operation("alltoallv", "float32", bytes * size, bytes * size, ranks);
      return wait(ccl::alltoallv(blocks.data(), counts, more.data(), counts, kType, comm));
    case 6:
      count_operation("broadcast", "float32", bytes, bytes, ranks);
      return wait(ccl::broadcast(block.data(), count, kType, 0, comm));
    case 7:
      count_operation("reduce", "float32", bytes, bytes, ranks);
      return wait(ccl::reduce(block.data(), other.data(), count, kType, ccl::reduction::sum, 0, comm));
    case 8:
      count_operation("reduce_scatter", "float32", bytes, bytes * size, ranks);
      return wait(ccl::reduce_scatter(blocks.data(), other.data(), count, kType, ccl::reduction::sum, comm));
    default:
      count_operation("barrier", "", 0, 0, ranks);
      return wait(ccl::barrier(comm));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int rank = std::atoi(arguments[1]);
  const int size = std::atoi(arguments[2]);
  ccl::init();
  count_call("init");
  {
    auto kvs = meet(rank, arguments[3]);
    const auto comm = ccl::create_communicator(size, rank, kvs);
    count_call("create_communicator");
    std::mt19937_64 random(std::strtoull(arguments[4], nullptr, 10));
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t choice = random() % 10;
      run_once(comm, choice, 1 + random() % 2000);
    }
    // As many groups as ranks: their communicators have different keys.
    const auto own = ccl::split_communicator(comm, rank, 0);
    count_call("split_communicator");
    for (int i = 0; i < 3; ++i) run_once(own, 0, 10);
    // A communicator that oneCCL refuses: there is no such rank.
    bool failed = false;
    try {
      (void)ccl::create_communicator(size, size + 3, kvs);
    } catch (const std::exception&) {
      failed = true;
    }
    count_call("create_communicator", failed);
    if (!failed) return 3;
    tally.print();
    leave_together(rank, size, arguments[3]);
    // After a refusal, oneCCL 2022.2 crashes when it destroys its communicators.
    std::_Exit(0);
  }
}
