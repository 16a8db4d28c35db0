#include "driver.hpp"

#include <sys/mman.h>

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
  bool fresh = false;
};

Command parse_command(std::istringstream& words, int ranks) {
  Command command;
  std::string op;
  std::string type;
  words >> op >> type >> command.workload.bytes >> command.warm_ups >> command.calls >> command.check >>
      command.release >> command.fresh;
  if (!words) throw std::runtime_error("invalid measure command: " + words.str());
  command.workload.op = parse_op(op).value();
  command.workload.type = parse_type(type).value();
  command.workload.ranks = ranks;
  return command;
}

/// The two buffers of a workload, with the input filled. Those of a single call (`fresh`) are new, and their output is
/// left untouched, as by a program that allocates a result before each call.
class Buffers {
 public:
  Buffers(Peer& peer, const Workload& workload, bool fresh)
      : peer_(peer),
        workload_(workload),
        fresh_(fresh),
        input_(take(Peer::Role::input, workload_.input_bytes())),
        output_(take(Peer::Role::output, workload_.output_bytes())) {
    if (!fresh_) spoil();
    fill_input(workload_, peer_.rank(), input_, output_);
  }
  ~Buffers() {
    give_back(Peer::Role::input, input_, workload_.input_bytes());
    give_back(Peer::Role::output, output_, workload_.output_bytes());
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] const Workload& workload() const noexcept { return workload_; }
  [[nodiscard]] const void* input() const noexcept { return input_; }
  [[nodiscard]] void* output() const noexcept { return output_; }
  /// Makes the output wrong, so that a check after the next call finds a result of an earlier one.
  void spoil() {
    spoil_output(workload_, output_);
    if (workload_.op == Op::broadcast) fill_input(workload_, peer_.rank(), input_, output_);
  }

 private:
  void* take(Peer::Role role, std::size_t bytes) {
    return fresh_ ? peer_.allocate_fresh(role, bytes) : peer_.allocate(role, bytes);
  }
  void give_back(Peer::Role role, void* memory, std::size_t bytes) {
    if (fresh_) {
      peer_.release_fresh(role, memory, bytes);
    } else {
      peer_.release(role, memory);
    }
  }

  Peer& peer_;
  Workload workload_;
  bool fresh_;
  void* input_;
  void* output_;
};

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

/// Calls the operation once; the time of one of its messages.
Clock::duration call(Peer& peer, const Buffers& buffers) {
  peer.barrier();
  const auto begin = Clock::now();
  peer.run(buffers.workload(), buffers.input(), buffers.output());
  return (Clock::now() - begin) / buffers.workload().trips();
}

/// A call whose result is compared element by element; the text of check().
std::string checked_call(Peer& peer, Buffers& buffers) {
  buffers.spoil();
  (void)call(peer, buffers);
  return check(buffers.workload(), peer.rank(), buffers.output());
}

std::string measure(Peer& peer, const Command& command, std::optional<Buffers>& kept) {
  std::string problem;
  if (command.check) {
    if (command.fresh) {
      Buffers buffers(peer, command.workload, true);
      problem = checked_call(peer, buffers);
      peer.barrier();
    } else {
      problem = checked_call(peer, *kept);
    }
  }
  const auto next = [&] {
    if (!command.fresh) return call(peer, *kept);
    const Buffers buffers(peer, command.workload, true);
    const Clock::duration time = call(peer, buffers);
    peer.barrier();  // no rank may free memory that another rank still reads
    return time;
  };
  for (int i = 0; i < command.warm_ups; ++i) (void)next();
  std::vector<Clock::duration> times(static_cast<std::size_t>(command.calls));
  const auto begin = Clock::now();
  for (Clock::duration& time : times) time = next();
  const auto nanoseconds = [](Clock::duration time) {
    return ' ' + std::to_string(std::chrono::nanoseconds(time).count());
  };
  std::string answer = "times" + nanoseconds(Clock::now() - begin);
  for (const Clock::duration time : times) answer += nanoseconds(time);
  peer.barrier();  // before the buffers may be freed
  return problem.empty() ? answer : "wrong rank " + std::to_string(peer.rank()) + ": " + problem;
}

}  // namespace

void* Peer::allocate(Role, std::size_t bytes) {
  void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Peer::release(Role, void* memory) { std::free(memory); }

void* Peer::allocate_fresh(Role, std::size_t bytes) {
  void* memory =
      mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void Peer::release_fresh(Role, void* memory, std::size_t bytes) { munmap(memory, std::max<std::size_t>(bytes, 1)); }

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
      if (command.fresh || (buffers && buffers->workload() != command.workload)) buffers.reset();
      if (!command.fresh && !buffers) buffers.emplace(peer, command.workload, false);
      std::string answer = measure(peer, command, buffers);
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
