#include "driver.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Command {
  Workload workload;
  int warm_ups = 0;
  int calls = 0;
  bool check = false;
  bool release = false;
};

Command parse_command(std::istringstream& words, int ranks) {
  Command command;
  std::string op;
  std::string type;
  words >> op >> type >> command.workload.bytes >> command.warm_ups >> command.calls >> command.check >>
      command.release;
  if (!words) throw std::runtime_error("invalid measure command: " + words.str());
  command.workload.op = parse_op(op).value();
  command.workload.type = parse_type(type).value();
  command.workload.ranks = ranks;
  return command;
}

/// The two buffers of a workload.
class Buffers {
 public:
  Buffers(Peer& peer, const Workload& workload)
      : peer_(peer),
        workload_(workload),
        input_(peer.allocate(Peer::Role::input, workload_.input_bytes())),
        output_(peer.allocate(Peer::Role::output, workload_.output_bytes())) {
    fill(workload_, peer_.rank(), input_, output_);
  }
  ~Buffers() {
    peer_.release(Peer::Role::input, input_);
    peer_.release(Peer::Role::output, output_);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] const Workload& workload() const noexcept { return workload_; }
  [[nodiscard]] const void* input() const noexcept { return input_; }
  [[nodiscard]] void* output() const noexcept { return output_; }

 private:
  Peer& peer_;
  Workload workload_;
  void* input_;
  void* output_;
};

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string measure(Peer& peer, const Command& command, const Buffers& buffers) {
  const Workload& workload = command.workload;
  std::string problem;
  if (command.check) {
    peer.barrier();
    peer.run(workload, buffers.input(), buffers.output());
    problem = check(workload, peer.rank(), buffers.output());
  }
  std::vector<Clock::duration> times(static_cast<std::size_t>(command.calls));
  const auto call = [&] {
    peer.barrier();
    const auto begin = Clock::now();
    peer.run(workload, buffers.input(), buffers.output());
    return Clock::now() - begin;
  };
  for (int i = 0; i < command.warm_ups; ++i) (void)call();
  const auto begin = Clock::now();
  for (Clock::duration& time : times) time = call();
  const auto nanoseconds = [](Clock::duration time) {
    return ' ' + std::to_string(std::chrono::nanoseconds(time).count());
  };
  std::string answer = "times" + nanoseconds(Clock::now() - begin);
  for (const Clock::duration time : times) answer += nanoseconds(time);
  // No rank may free memory that another rank still reads.
  peer.barrier();
  return problem.empty() ? answer : "wrong rank " + std::to_string(peer.rank()) + ": " + problem;
}

}  // namespace

void* Peer::allocate(Role, std::size_t bytes) {
  void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Peer::release(Role, void* memory) { std::free(memory); }

int serve(RankLink& link, Peer& peer) {
  link.send("ready " + std::to_string(peer.rank()) + ' ' + std::to_string(peer.size()) + ' ' +
            one_line(peer.version()));
  std::optional<Buffers> buffers;
  for (;;) {
    std::istringstream words(link.receive());
    std::string verb;
    words >> verb;
    if (verb == "release") {
      buffers.reset();
      link.send("released");
      continue;
    }
    if (verb != "measure") return 0;
    try {
      const Command command = parse_command(words, peer.size());
      if (buffers && buffers->workload() != command.workload) buffers.reset();
      if (!buffers) buffers.emplace(peer, command.workload);
      std::string answer = measure(peer, command, *buffers);
      if (command.release) buffers.reset();
      link.send(answer);
    } catch (const std::exception& error) {
      // The other ranks may wait for this rank, so it cannot continue.
      link.send("failed " + one_line(error.what()));
      return 1;
    }
  }
}

}  // namespace tutti::bench
