// A rank of a job with device memory:
//   moves MODULE  prints the traffic of three allgathers, e.g. "moves of rank 1: device->device 6291456"
//   loop MODULE   runs allgathers until the test kills a rank; exits with 42 when a peer fails
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/devices/device_support.hpp"
#include "support/observers/operation_sums.hpp"
#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr int kExitPeerFailure = 42;

/// An allgather of blocks; each byte is the rank of the block's owner.
class Gathering {
 public:
  Gathering(const Communicator& comm, const std::string& module, std::size_t block)
      : comm_(comm),
        stream_(make_stream(comm, module)),
        in_(stream_->stream(), MemoryKind::device, block),
        out_(stream_->stream(), MemoryKind::device, block * static_cast<std::size_t>(comm.size())),
        host_(block * static_cast<std::size_t>(comm.size())) {
    in_.write(std::vector<std::uint8_t>(block, static_cast<std::uint8_t>(comm.rank())).data(), block);
  }

  void run() const { comm_.allgather(in_.bytes(), out_.bytes(), {.stream = stream_->stream()}).wait(); }
  void check() {
    out_.read(host_.data(), host_.size());
    const std::size_t block = host_.size() / static_cast<std::size_t>(comm_.size());
    for (std::size_t i = 0; i < host_.size(); ++i) {
      if (host_[i] != i / block) throw std::logic_error("byte " + std::to_string(i) + " is wrong");
    }
  }

 private:
  static std::unique_ptr<spi::DeviceStream> make_stream(const Communicator& comm, const std::string& module) {
    const std::vector<Device> devices = rank_devices(module);
    const Device device = devices[static_cast<std::size_t>(comm.rank()) % devices.size()];
    return spi::device_runtime(device).make_stream(device);
  }

  Communicator comm_;
  std::unique_ptr<spi::DeviceStream> stream_;
  DeviceArray in_;
  DeviceArray out_;
  std::vector<std::uint8_t> host_;
};

void print_moves(const Communicator& comm, const std::string& module) {
  Gathering gathering(comm, module, std::size_t{1} << 20);
  std::string text = "moves of rank " + std::to_string(comm.rank()) + ":";
  {
    OperationSums sums;
    for (int i = 0; i < 3; ++i) gathering.run();
    for (const auto& [what, bytes] : sums.take()) {
      if (what.find("->") != std::string::npos) text += " " + what + " " + std::to_string(bytes);
    }
  }
  gathering.check();
  std::puts(text.c_str());
}

[[noreturn]] void loop(const Communicator& comm, const std::string& module) {
  Gathering gathering(comm, module, std::size_t{4} << 20);
  for (int i = 0;; ++i) {
    gathering.run();
    if (i != 2) continue;
    gathering.check();
    std::puts("in the middle");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  arm_watchdog(90);
  try {
    const Communicator comm = world();
    if (std::string(argv[1]) == "loop") loop(comm, argv[2]);
    print_moves(comm, argv[2]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(name(error.code())).c_str(), error.what());
    return error.code() == ErrorCode::peer_failure ? kExitPeerFailure : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
