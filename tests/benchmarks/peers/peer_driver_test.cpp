// The loop of the drivers, with a library of one rank that the test controls.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "driver.hpp"

namespace tutti::bench {
namespace {

/// A library of one rank whose operation copies, and goes wrong from a certain call on.
class CopyingPeer final : public Peer {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] std::string version() const override { return "copy"; }
  void barrier() override {}
  void run(const Workload& workload, const void* input, void* output) override {
    if (*static_cast<const std::uint32_t*>(output) != 0) ++touched;
    if (++calls <= right_calls) std::memcpy(output, input, workload.input_bytes());
  }
  [[nodiscard]] void* allocate(Role role, std::size_t bytes) override {
    ++kept;
    return Peer::allocate(role, bytes);
  }
  [[nodiscard]] void* allocate_fresh(Role role, std::size_t bytes) override {
    ++fresh;
    return Peer::allocate_fresh(role, bytes);
  }
  void release_fresh(Role role, void* memory, std::size_t bytes) override {
    ++released;
    Peer::release_fresh(role, memory, bytes);
  }

  int right_calls = 1'000'000;
  int calls = 0;
  int touched = 0;  ///< calls whose output had been written to before
  int kept = 0;
  int fresh = 0;
  int released = 0;
};

/// Answers of the loop to the commands.
std::vector<std::string> serve_commands(Peer& peer, const std::vector<std::string>& commands) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  RankLink controller(ends[0]);
  std::thread rank([&] {
    RankLink link(ends[1]);
    EXPECT_EQ(serve(link, peer), 0);
  });
  EXPECT_EQ(controller.receive(), "ready 0 1 copy");
  std::vector<std::string> answers;
  for (const std::string& command : commands) {
    controller.send(command);
    answers.push_back(controller.receive());
  }
  controller.send("quit");
  rank.join();
  return answers;
}

TEST(PeerDriver, EveryCheckedTurnFindsAResultThatThisTurnDidNotWrite) {
  CopyingPeer peer;
  peer.right_calls = 4;
  const std::string turn = "measure allreduce float32 64 1 2 1 0 0";
  const auto answers = serve_commands(peer, {turn, turn});
  EXPECT_TRUE(answers[0].starts_with("times ")) << answers[0];
  EXPECT_TRUE(answers[1].starts_with("wrong rank 0: element 0 is ")) << answers[1];
  EXPECT_EQ(peer.kept, 2) << "the buffers are kept from turn to turn";
}

TEST(PeerDriver, FreshBuffersAreNewForEveryCallAndTheirOutputUntouched) {
  CopyingPeer peer;
  const auto answers = serve_commands(peer, {"measure allreduce float32 64 2 3 1 0 1"});
  EXPECT_TRUE(answers[0].starts_with("times ")) << answers[0];
  EXPECT_EQ(peer.calls, 6);
  EXPECT_EQ(peer.touched, 1) << "only the checked call has a spoilt output";
  EXPECT_EQ(peer.kept, 0);
  EXPECT_EQ(peer.fresh, 2 * peer.calls);
  EXPECT_EQ(peer.released, peer.fresh);
}

/// Inputs and outputs of all ranks, and the operations on them.
class RightLibrary {
 public:
  explicit RightLibrary(const Workload& work) : work_(work) {
    for (int r = 0; r < work.ranks; ++r) {
      auto& input = inputs_.emplace_back(work.input_bytes() + 1);  // a vector without elements has no address
      auto& output = outputs_.emplace_back(work.output_bytes());
      spoil_output(work, output.data());
      fill_input(work, r, input.data(), output.data());
    }
    for (int r = 0; r < work.ranks; ++r) carry_out(r);
  }

  [[nodiscard]] std::vector<std::byte>& output(int rank) { return outputs_[static_cast<std::size_t>(rank)]; }

 private:
  void move(int from, std::size_t source, int to, std::size_t at) {
    const std::size_t block = work_.count() * size_of(work_.type);
    std::memcpy(output(to).data() + at * block, inputs_[static_cast<std::size_t>(from)].data() + source * block, block);
  }
  void sum(int to, std::size_t source) {
    auto* out = reinterpret_cast<float*>(output(to).data());
    for (std::size_t i = 0; i < work_.count(); ++i) {
      out[i] = 0;
      for (const auto& input : inputs_) {
        out[i] += reinterpret_cast<const float*>(input.data())[source * work_.count() + i];
      }
    }
  }
  void carry_out(int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    if (work_.op == Op::allreduce) sum(rank, 0);
    if (work_.op == Op::reduce_scatter) sum(rank, mine);
    if (work_.op == Op::broadcast && rank != 0) output(rank) = output(0);
    if (work_.op == Op::scatter) move(0, mine, rank, 0);
    if (work_.op == Op::message && work_.partner(rank)) move(*work_.partner(rank), 0, rank, 0);
    for (int from = 0; from < work_.ranks; ++from) {
      if (work_.op == Op::allgather || (work_.op == Op::gather && rank == 0)) {
        move(from, 0, rank, static_cast<std::size_t>(from));
      }
      if (work_.op == Op::alltoall) move(from, mine, rank, static_cast<std::size_t>(from));
    }
  }

  Workload work_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::vector<std::byte>> outputs_;
};

TEST(PeerWorkload, RightResultsOfEveryOperationPassAndOthersAreFound) {
  for (const Op op : kOps) {
    if (op == Op::barrier) continue;
    for (const int ranks : {2, 3}) {
      const Workload work{.op = op, .bytes = 240, .ranks = ranks};
      RightLibrary library(work);
      for (int r = 0; r < ranks; ++r) {
        auto& output = library.output(r);
        EXPECT_EQ(check(work, r, output.data()), "") << name(op) << ", rank " << r << " of " << ranks;
        const bool has_result = (op != Op::gather || r == 0) && (op != Op::message || work.partner(r));
        output.back() ^= std::byte{1};
        EXPECT_EQ(check(work, r, output.data()).empty(), !has_result) << name(op) << ", rank " << r << " of " << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace tutti::bench
