// A rank that calls tutti's native engine through the public interface.
//
// usage: tutti_driver SOCKET [--allocate | --threads N]
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "driver.hpp"
#include "tutti/tutti.hpp"

namespace tutti::bench {
namespace {

DataType data_type(Type type) {
  switch (type) {
    case Type::float16:
      return DataType::float16;
    case Type::bfloat16:
      return DataType::bfloat16;
    case Type::float32:
      break;
  }
  return DataType::float32;
}

class TuttiPeer : public Peer {
 public:
  explicit TuttiPeer(Communicator comm) : comm_(std::move(comm)) {}

  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int size() const override { return comm_.size(); }
  [[nodiscard]] std::string version() const override {
    return "tutti " + std::string(tutti::version()) + " (" + std::string(comm_.backend()) + ")";
  }

  void barrier() override { comm_.barrier(); }

  void run(const Workload& workload, const void* input, void* output) override {
    const DataType type = data_type(workload.type);
    const ConstBuffer in(input, workload.input_count(), type);
    const Buffer out(output, workload.output_count(), type);
    switch (workload.op) {
      case Op::allreduce:
        comm_.allreduce(in, out);
        break;
      case Op::allgather:
        comm_.allgather(in, out);
        break;
      case Op::broadcast:
        comm_.broadcast(out, 0);
        break;
      case Op::reduce_scatter:
        comm_.reduce_scatter(in, out);
        break;
      case Op::alltoall:
        comm_.alltoall(in, out);
        break;
      case Op::gather:
        comm_.gather(in, out, 0);
        break;
      case Op::scatter:
        comm_.scatter(in, out, 0);
        break;
      case Op::message:
        exchange(workload, in, out);
        break;
      case Op::barrier:
        comm_.barrier();
        break;
    }
  }

 private:
  void exchange(const Workload& workload, const ConstBuffer& in, const Buffer& out) {
    const std::optional<int> partner = workload.partner(rank());
    if (!partner) return;
    if (rank() < *partner) comm_.send(in, *partner);
    comm_.recv(out, *partner);
    if (rank() > *partner) comm_.send(in, *partner);
  }

  Communicator comm_;
};

/// Peer with buffers from tutti::allocate().
class AllocatingPeer final : public TuttiPeer {
 public:
  using TuttiPeer::TuttiPeer;
  [[nodiscard]] void* allocate(Role role, std::size_t bytes) override {
    SharedArray<std::byte>& array = arrays_[role == Role::input ? 0 : 1];
    array = tutti::allocate<std::byte>(bytes);
    return array.data();
  }
  void release(Role role, void*) override { arrays_[role == Role::input ? 0 : 1] = {}; }
  [[nodiscard]] void* allocate_fresh(Role role, std::size_t bytes) override { return allocate(role, bytes); }
  void release_fresh(Role role, void* memory, std::size_t) override { release(role, memory); }

 private:
  std::array<SharedArray<std::byte>, 2> arrays_;
};

int drive_threads(const char* socket, int ranks) {
  std::vector<Communicator> comms = local_group(ranks);
  std::vector<int> codes(comms.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    threads.emplace_back([&, rank] {
      codes[rank] = drive(socket, [&](RankLink&) { return std::make_unique<TuttiPeer>(std::move(comms[rank])); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int code : codes) {
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  using namespace tutti::bench;
  if (argc == 4 && std::string_view(argv[2]) == "--threads") return drive_threads(argv[1], std::atoi(argv[3]));
  if (argc == 3 && std::string_view(argv[2]) == "--allocate") {
    return drive(argv[1], [](RankLink&) { return std::make_unique<AllocatingPeer>(tutti::world()); });
  }
  if (argc != 2) return 2;
  return drive(argv[1], [](RankLink&) { return std::make_unique<TuttiPeer>(tutti::world()); });
}
