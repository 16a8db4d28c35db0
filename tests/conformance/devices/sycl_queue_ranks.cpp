// A rank of a job that uses its own queues, for backends whose ranks must be processes. Tests the order of operations,
// the waits of the host, refused arguments, and the queue after an operation that cannot end. All cases but the mixed
// ones also run with TUTTI_STRICT, which forbids staging.
//
// usage: sycl_queue_ranks CASE    prints "passed CASE" on every rank
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>
#include <tutti/sycl.hpp>

#include "support/devices/device_support.hpp"
#include "support/devices/sycl_application.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCount = 1'100'003;

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

Device device_of(const Communicator& comm) {
  const std::vector<Device> devices = rank_devices("sycl");
  return devices[static_cast<std::size_t>(comm.rank()) % devices.size()];
}

/// Owns USM of a queue.
class Usm {
 public:
  Usm(::sycl::queue& queue, ::sycl::usm::alloc kind, std::size_t count)
      : queue_(queue), data_(::sycl::malloc<float>(count, queue, kind)) {}
  ~Usm() { ::sycl::free(data_, queue_); }
  Usm(const Usm&) = delete;
  Usm& operator=(const Usm&) = delete;
  [[nodiscard]] float* data() const noexcept { return data_; }

 private:
  ::sycl::queue queue_;
  float* data_;
};

/// A kernel writes the input, then two operations, then a kernel reads the output. The first kernel cannot begin before
/// everything is enqueued. oneCCL has no average: with that reduction, the first operation is staged, the second is
/// not.
void check_order(const Communicator& comm, bool in_order, Reduction reduction = Reduction::sum) {
  SyclApplication app(device_of(comm), in_order);
  const Usm input(app.queue, ::sycl::usm::alloc::device, kCount);
  const Usm output(app.queue, ::sycl::usm::alloc::device, kCount);
  const Usm result(app.queue, ::sycl::usm::alloc::host, kCount);
  std::atomic<bool> is_open = false;
  const ::sycl::event gate = app.queue.submit([&](::sycl::handler& handler) {
    handler.host_task([&] {
      while (!is_open) std::this_thread::sleep_for(1ms);
    });
  });
  app.launch("produce", {gate}, input.data(), std::uint64_t{kCount}, comm.rank());
  const Stream stream = tutti::sycl::stream(app.queue);
  Work first = comm.allreduce(ConstBuffer(input.data(), kCount), Buffer(output.data(), kCount),
                              {.op = reduction, .stream = stream});
  // An operation in place, whose Work is dropped.
  comm.allreduce(Buffer(output.data(), kCount), {.op = Reduction::max, .stream = stream});
  const ::sycl::event last = app.launch("consume", {}, output.data(), result.data(), std::uint64_t{kCount});
  require(!first.ready(), "the first operation was complete before its input was written");
  is_open = true;
  SyclApplication::wait_for(last);
  const auto ranks = static_cast<float>(comm.size());
  const float divisor = reduction == Reduction::average ? ranks : 1;
  for (std::size_t i = 0; i < kCount; ++i) {
    const float sum = ranks * static_cast<float>(i % 1000) + 1000 * ranks * (ranks - 1) / 2;
    const float want = sum / divisor + 1;
    require(result.data()[i] == want, "wrong result: element " + std::to_string(i) + " is " +
                                          std::to_string(result.data()[i]) + " instead of " + std::to_string(want));
  }
  require(first.ready(), "the first operation is not complete although later work of the queue is");
  first.wait();
  std::uint64_t one = 1;
  comm.allreduce(Buffer(&one, 1));
  require(one == static_cast<std::uint64_t>(comm.size()),
          "wrong result: an operation on host memory after it gave " + std::to_string(one));
}

/// Each operation uses another queue in another context.
void check_contexts(const Communicator& comm) {
  for (int turn = 0; turn < 10; ++turn) {
    const ::sycl::device device = tutti::sycl::device(device_of(comm));
    // In order, because the CPU's driver can hang when it holds the last reference to an out-of-order queue.
    ::sycl::queue queue(::sycl::context(device), device, {::sycl::property::queue::in_order()});
    const Usm data(queue, ::sycl::usm::alloc::device, 1000);
    queue.fill(data.data(), static_cast<float>(turn), 1000);
    comm.allreduce(Buffer(data.data(), 1000), {.stream = tutti::sycl::stream(queue)});
    float last = -1;
    queue.memcpy(&last, data.data() + 999, sizeof last).wait();
    require(last == static_cast<float>(turn * comm.size()),
            "wrong result in turn " + std::to_string(turn) + ": " + std::to_string(last));
  }
}

std::string refusal(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    require(error.code() == code, std::string("unexpected error: ") + error.what());
    return error.what();
  }
  throw std::runtime_error("expected the error " + std::string(name(code)) + ", but there was none");
}

void require_words(const std::string& text, std::initializer_list<std::string> words) {
  for (const std::string& word : words) require(text.find(word) != std::string::npos, word + " is not in: " + text);
}

void check_refusals(const Communicator& comm) {
  ::sycl::queue queue(tutti::sycl::device(device_of(comm)));
  ::sycl::queue other(::sycl::context(queue.get_device()), queue.get_device());
  const Stream stream = tutti::sycl::stream(queue);
  std::vector<float> ordinary(16);
  const auto allreduce = [&](ConstBuffer in, Buffer out) { comm.allreduce(in, out, {.stream = stream}); };
  require_words(refusal([&] { allreduce(Buffer(ordinary), Buffer(ordinary)); }, ErrorCode::invalid_argument),
                {"ordinary host memory", "the stream on " + device_of(comm).name()});
  const Usm foreign(other, ::sycl::usm::alloc::device, 16);
  require_words(
      refusal([&] { allreduce(Buffer(foreign.data(), 16), Buffer(foreign.data(), 16)); }, ErrorCode::invalid_argument),
      {"of another context"});
  const Usm device(queue, ::sycl::usm::alloc::device, 16);
  queue.fill(device.data(), 1.0F, 16);
  allreduce(Buffer(device.data(), 16), Buffer(device.data(), 16));  // the communicator is still usable
  float first = 0;
  queue.memcpy(&first, device.data(), sizeof first).wait();
  require(first == static_cast<float>(comm.size()),
          "wrong result: an allreduce after the refusals gave " + std::to_string(first));
}

/// The ranks may use different kinds of USM, also for the two buffers of one operation.
void check_kinds(const Communicator& comm) {
  using Kind = ::sycl::usm::alloc;
  ::sycl::queue queue(tutti::sycl::device(device_of(comm)), {::sycl::property::queue::in_order()});
  const Stream stream = tutti::sycl::stream(queue);
  constexpr std::array kKinds = {Kind::device, Kind::shared, Kind::host};
  for (std::size_t turn = 0; turn < 9; ++turn) {
    const Usm input(queue, kKinds[(turn + static_cast<std::size_t>(comm.rank())) % 3], 1000);
    const Usm output(queue, kKinds[turn / 3], 1000);
    queue.fill(input.data(), static_cast<float>(comm.rank() + 1), 1000);
    comm.allreduce(ConstBuffer(input.data(), 1000), Buffer(output.data(), 1000), {.stream = stream});
    std::vector<float> got(1000);
    queue.memcpy(got.data(), output.data(), got.size() * sizeof(float)).wait();
    const auto want = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
    require(got == std::vector<float>(1000, want),
            "wrong result in turn " + std::to_string(turn) + ": " + std::to_string(got[0]));
  }
}

/// An operation that the other ranks never call must not block the queue for ever.
void check_escape(const Communicator& world, bool by_timeout) {
  {
    const Communicator comm = world.duplicate();
    ::sycl::queue queue(tutti::sycl::device(device_of(comm)));
    const Usm data(queue, ::sycl::usm::alloc::device, 16);
    const Stream stream = tutti::sycl::stream(queue);
    comm.allreduce(Buffer(data.data(), 16), {.stream = stream}).wait();
    if (comm.rank() == 0) {
      const std::chrono::nanoseconds timeout = by_timeout ? 200ms : 0ms;
      Work work = comm.allreduce(Buffer(data.data(), 16), {.stream = stream, .timeout = timeout});
      // On a busy machine, the timeout may have passed before this check.
      require(by_timeout || !work.wait_for(20ms),
              "wait_for() returned true although the other ranks have not called the operation");
      if (!by_timeout) comm.abort();
      require_words(refusal([&] { work.wait(); }, by_timeout ? ErrorCode::timeout : ErrorCode::aborted),
                    {by_timeout ? "not complete after 200 ms" : "aborted"});
      queue.wait();
      (void)refusal([&] { comm.allreduce(Buffer(data.data(), 16), {.stream = stream}); },
                    by_timeout ? ErrorCode::timeout : ErrorCode::aborted);
    }
  }
  world.barrier();
}

void check_reports(const Communicator& comm) {
  ::sycl::queue queue(tutti::sycl::device(device_of(comm)));
  const Usm data(queue, ::sycl::usm::alloc::device, kCount);
  const Stream stream = tutti::sycl::stream(queue);
  comm.allreduce(Buffer(data.data(), kCount), {.stream = stream}).wait();
  const RecordingObserver observer;
  const std::uint64_t begin = observer_time_ns();
  comm.allreduce(Buffer(data.data(), kCount), {.stream = stream}).wait();
  const std::uint64_t end = observer_time_ns();
  const auto issued = observer.issued();
  require(issued.size() == 1 && !issued.front().emulated, "expected one operation that is not emulated");
  std::map<std::string, int> calls;
  for (const auto& call : observer.calls()) {
    if (call.library != "oneCCL") continue;
    ++calls[call.function];
    require(call.cause == issued.front().id, call.function + " names another operation");
  }
  require(calls == std::map<std::string, int>{{"ccl::allreduce", 1}, {"ccl::event::wait", 1}},
          "calls: " + observer.call_names());
  require(observer.traffic().empty(), "data was copied although oneCCL takes the device memory");
  const auto intervals = observer.intervals();
  require(intervals.size() == 1, std::to_string(intervals.size()) + " intervals");
  const auto& interval = intervals.front();
  require(interval.name == "allreduce" && interval.device == device_of(comm) && interval.cause == issued.front().id,
          "unexpected device interval: " + interval.name);
  require(begin <= interval.begin_ns && interval.begin_ns < interval.end_ns && interval.end_ns <= end,
          "the device interval is not within the call: " + std::to_string(begin) + " " +
              std::to_string(interval.begin_ns) + " " + std::to_string(interval.end_ns) + " " + std::to_string(end));
}

void run(const std::string& name, const Communicator& comm) {
  if (name == "in_order") return check_order(comm, true);
  if (name == "out_of_order") return check_order(comm, false);
  if (name == "mixed_in_order") return check_order(comm, true, Reduction::average);
  if (name == "mixed_out_of_order") return check_order(comm, false, Reduction::average);
  if (name == "contexts") return check_contexts(comm);
  if (name == "refusals") return check_refusals(comm);
  if (name == "kinds") return check_kinds(comm);
  if (name == "abort") return check_escape(comm, false);
  if (name == "timeout") return check_escape(comm, true);
  if (name == "reports") return check_reports(comm);
  throw std::invalid_argument("there is no case '" + name + "'");
}

}  // namespace
}  // namespace tutti::test

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  tutti::test::arm_watchdog(90);
  try {
    const tutti::Communicator comm = tutti::world();
    tutti::test::run(name, comm);
    std::printf("passed %s\n", name.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
}
