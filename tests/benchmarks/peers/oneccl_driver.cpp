// A rank that calls oneCCL directly through its C++ interface. Environment variables give the rank; the controller
// passes the address of oneCCL's key-value store from rank 0 to the others.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <oneapi/ccl.hpp>
#include <stdexcept>
#include <utility>

#include "driver.hpp"

namespace tutti::bench {
namespace {

// The variable of the controller, or that of Intel MPI's launcher.
int number_from(const char* variable, const char* launchers) {
  for (const char* name : {launchers, variable}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  throw std::runtime_error(std::string("neither ") + variable + " nor " + launchers + " is set");
}

std::string to_hex(const ccl::kvs::address_type& address) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : address) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

ccl::kvs::address_type from_hex(const std::string& text) {
  ccl::kvs::address_type address{};
  if (text.size() != 2 * address.size()) throw std::runtime_error("the address of rank 0 is incomplete: " + text);
  for (std::size_t i = 0; i < address.size(); ++i) {
    address[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return address;
}

ccl::shared_ptr_class<ccl::kvs> meet(RankLink& link, int rank) {
  constexpr std::string_view kShare = "share ";
  if (rank == 0) {
    auto kvs = ccl::create_main_kvs();
    link.send(std::string(kShare) + to_hex(kvs->get_address()));
    return kvs;
  }
  return ccl::create_kvs(from_hex(link.receive().substr(kShare.size())));
}

class OneCclPeer : public Peer {
 public:
  explicit OneCclPeer(RankLink& link)
      : rank_(number_from("RANK", "PMI_RANK")),
        kvs_((ccl::init(), meet(link, rank_))),
        comm_(ccl::create_communicator(number_from("WORLD_SIZE", "PMI_SIZE"), rank_, kvs_)) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return comm_.size(); }
  [[nodiscard]] std::string version() const override {
    const ccl::library_version version = ccl::get_library_version();
    return "oneCCL " + std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' +
           std::to_string(version.update);
  }

  void barrier() override { ccl::barrier(comm_).wait(); }

  void run(const Workload& workload, const void* input, void* output) override {
    constexpr auto kType = ccl::datatype::float32;
    const std::size_t count = workload.count();
    switch (workload.op) {
      case Op::allreduce:
        ccl::allreduce(input, output, count, kType, ccl::reduction::sum, comm_).wait();
        break;
      case Op::allgather:
        ccl::allgather(input, output, count, kType, comm_).wait();
        break;
      case Op::broadcast:
        ccl::broadcast(output, count, kType, 0, comm_).wait();
        break;
      case Op::reduce_scatter:
        ccl::reduce_scatter(input, output, count, kType, ccl::reduction::sum, comm_).wait();
        break;
      case Op::alltoall:
        ccl::alltoall(input, output, count, kType, comm_).wait();
        break;
      case Op::barrier:
        ccl::barrier(comm_).wait();
        break;
      case Op::gather:
      case Op::scatter:
      case Op::message:  // crashes on host memory
        throw std::runtime_error("oneCCL has no " + std::string(name(workload.op)) + " of host memory");
    }
  }

 private:
  int rank_;
  ccl::shared_ptr_class<ccl::kvs> kvs_;
  ccl::communicator comm_;
};

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  using namespace tutti::bench;
  if (argc != 2) return 2;
  return drive(argv[1], [](RankLink& link) { return std::make_unique<OneCclPeer>(link); });
}
