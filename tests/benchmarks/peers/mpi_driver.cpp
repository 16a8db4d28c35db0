// A rank that calls an MPI library directly. Built once per library.
#include <mpi.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "driver.hpp"

namespace tutti::bench {
namespace {

/// Thread level of MPI, from the variable that tutti reads too; `single`, as MPI_Init gives it, without the variable.
int thread_level() {
  const char* level = std::getenv("TUTTI_MPI_THREAD_LEVEL");
  return level != nullptr && std::string_view(level) == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

class MpiPeer : public Peer {
 public:
  MpiPeer() {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, thread_level(), &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiPeer() override { MPI_Finalize(); }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text);
    return whole.substr(0, whole.find('\n'));
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  void run(const Workload& workload, const void* input, void* output) override {
    const int count = static_cast<int>(workload.count());
    switch (workload.op) {
      case Op::allreduce:
        MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case Op::allgather:
        MPI_Allgather(input, count, MPI_FLOAT, output, count, MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case Op::broadcast:
        MPI_Bcast(output, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
      case Op::reduce_scatter:
        MPI_Reduce_scatter_block(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
      case Op::alltoall:
        MPI_Alltoall(input, count, MPI_FLOAT, output, count, MPI_FLOAT, MPI_COMM_WORLD);
        break;
      case Op::gather:
        MPI_Gather(input, count, MPI_FLOAT, output, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
      case Op::scatter:
        MPI_Scatter(input, count, MPI_FLOAT, output, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
      case Op::message:
        exchange(workload, input, output);
        break;
      case Op::barrier:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    }
  }

 private:
  void exchange(const Workload& workload, const void* input, void* output) const {
    const int count = static_cast<int>(workload.count());
    const std::optional<int> partner = workload.partner(rank_);
    if (!partner) return;
    if (rank_ < *partner) MPI_Send(input, count, MPI_FLOAT, *partner, 0, MPI_COMM_WORLD);
    MPI_Recv(output, count, MPI_FLOAT, *partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank_ > *partner) MPI_Send(input, count, MPI_FLOAT, *partner, 0, MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  using namespace tutti::bench;
  if (argc != 2) return 2;
  return drive(argv[1], [](RankLink&) { return std::make_unique<MpiPeer>(); });
}
