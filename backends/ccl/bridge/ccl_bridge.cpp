// The bridge: compiled with oneCCL's headers and linked to libccl.so.1, and to nothing of tutti.
#include "bridge/ccl_bridge.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bridge/ccl_capture.hpp"
#include "bridge/ccl_handle.hpp"
#include "bridge/ccl_turns.hpp"
#include "ccl_types.hpp"

namespace tutti::ccl {

namespace {

static_assert(sizeof(::ccl::event) <= sizeof(Event::bytes) && alignof(::ccl::event) <= alignof(Event));
static_assert(::ccl::kvs::address_max_size == kAddressBytes);

/// Whether the module's numbers equal those in oneCCL's header.
constexpr bool is_type(DataType ours, ::ccl::datatype theirs) { return datatype(ours) == static_cast<int>(theirs); }
constexpr bool is_reduction(Reduction ours, ::ccl::reduction theirs) {
  return reduction(ours) == static_cast<int>(theirs);
}
static_assert(is_type(DataType::int8, ::ccl::datatype::int8) && is_type(DataType::uint8, ::ccl::datatype::uint8));
static_assert(is_type(DataType::int16, ::ccl::datatype::int16) && is_type(DataType::uint16, ::ccl::datatype::uint16));
static_assert(is_type(DataType::int32, ::ccl::datatype::int32) && is_type(DataType::uint32, ::ccl::datatype::uint32));
static_assert(is_type(DataType::int64, ::ccl::datatype::int64) && is_type(DataType::uint64, ::ccl::datatype::uint64));
static_assert(is_type(DataType::float16, ::ccl::datatype::float16));
static_assert(is_type(DataType::bfloat16, ::ccl::datatype::bfloat16));
static_assert(is_type(DataType::float32, ::ccl::datatype::float32));
static_assert(is_type(DataType::float64, ::ccl::datatype::float64));
static_assert(is_reduction(Reduction::sum, ::ccl::reduction::sum));
static_assert(is_reduction(Reduction::product, ::ccl::reduction::prod));
static_assert(is_reduction(Reduction::min, ::ccl::reduction::min));
static_assert(is_reduction(Reduction::max, ::ccl::reduction::max));

thread_local std::string last_error;  // NOLINT

const char* error() { return last_error.c_str(); }

[[gnu::cold]] int fail(const char* what) {
  last_error = what;
  return 1;
}

/// Calls oneCCL and turns exceptions into a code.
template <typename Call>
[[gnu::always_inline]] inline int guarded(const Call& call) {
  try {
    call();
    return 0;
  } catch (const std::exception& thrown) {
    return fail(thrown.what());
  } catch (...) {
    return fail("oneCCL threw an object that is not a std::exception");
  }
}

/// The same for calls that print when they fail, and sometimes when they succeed.
template <typename Call>
int captured(const Call& call) {
  Capture capture;
  if (guarded(call) == 0) return 0;
  if (const std::string said = capture.text(); !said.empty()) last_error += " (" + said + ")";
  return 1;
}

// Never destroyed: threads that were left behind use it until the process ends.
Turns& turns = *new Turns;  // NOLINT

/// Waits for an operation. A thread that takes turns must let others in while it waits: the operation may be complete
/// only after another thread of this process has made its call.
void finish(::ccl::event& event, Turn& turn) {
  if (!turn) {
    event.wait();
    return;
  }
  constexpr unsigned kTestsPerTurn = 64;
  for (unsigned tests = 1; !event.test(); ++tests) {
    if (tests < kTestsPerTurn) continue;
    // A long wait, perhaps for a rank that needs this core.
    sched_yield();
    if (tests % kTestsPerTurn == 0) turn.give_way();
  }
}

/// Makes the call and stores its event in `event`.
template <typename Call>
[[gnu::always_inline]] inline int started(Event* event, const Call& call) {
  return guarded([&] {
    const Turn turn(turns);
    ::new (static_cast<void*>(event->bytes))::ccl::event(call());
  });
}

::ccl::datatype type_of(int type) { return static_cast<::ccl::datatype>(type); }
::ccl::reduction reduction_of(int reduction) { return static_cast<::ccl::reduction>(reduction); }

int version(BridgeVersion* version) {
  return guarded([&] {
    // A static function, which does not start the library.
    const ::ccl::library_version found = ::ccl::detail::environment::get_library_version();
    *version = {found.major, found.minor, found.update, std::string(found.cl_backend_name.c_str()) == "DPCPP"};
  });
}

int init(const BridgeOptions& options) {
  Capture::enable(options.quiet);
  turns.enable(options.takes_turns);
  return captured([] { ::ccl::init(); });
}

/// Keeps the threads that were left behind out of oneCCL and MPI while these end. Handlers run in reverse order, so
/// this one is registered after both are loaded.
void stop_at_exit() {
  static const int registered = std::atexit([] { turns.close(std::chrono::seconds(1)); });
  (void)registered;
}

int create_main_kvs(Kvs** kvs, char* address) {
  return captured([&] {
    auto made = std::make_unique<Kvs>(Kvs{::ccl::create_main_kvs()});
    const ::ccl::kvs::address_type at = made->kvs->get_address();
    std::copy(at.begin(), at.end(), address);
    *kvs = made.release();
  });
}

int create_kvs(const char* address, Kvs** kvs) {
  return captured([&] {
    ::ccl::kvs::address_type at;
    std::copy(address, address + kAddressBytes, at.begin());
    *kvs = std::make_unique<Kvs>(Kvs{::ccl::create_kvs(at)}).release();
  });
}

int create_communicator(int size, int rank, Kvs* kvs, Handle** handle) {
  return captured([&] {
    const std::unique_ptr<Kvs> owned(kvs);
    const Turn turn(turns);
    *handle = std::make_unique<Handle>(::ccl::create_communicator(size, rank, owned->kvs), size).release();
    stop_at_exit();
  });
}

int create_on_queue(const QueueBridge* queues, int size, int rank, Kvs* kvs, void* queue, Handle** handle) {
  return captured([&] {
    const std::unique_ptr<Kvs> owned(kvs);
    const Turn turn(turns);
    *handle = queues->create(size, rank, *owned, queue);
    stop_at_exit();
  });
}

int bind_queue(const QueueBridge* queues, Handle* handle, void* queue) {
  return captured([&] {
    const Turn turn(turns);
    queues->bind(*handle, queue);
    handle->has_queue = true;
  });
}

int destroy_communicator(Handle* handle) {
  return captured([&] {
    const Turn turn(turns);
    delete handle;
  });
}

int allreduce(Handle* handle, const void* in, void* out, std::size_t count, int type, int reduction, Event* event) {
  return started(event, [&] {
    return ::ccl::allreduce(in, out, count, type_of(type), reduction_of(reduction), handle->communicator,
                            handle->stream);
  });
}

int whole_allreduce_in_turn(Handle* handle, const void* in, void* out, std::size_t count, int type, int reduction) {
  return guarded([&] {
    Turn turn(turns);
    ::ccl::event event = ::ccl::allreduce(in, out, count, type_of(type), reduction_of(reduction), handle->communicator);
    finish(event, turn);
  });
}

int whole_allreduce(Handle* handle, const void* in, void* out, std::size_t count, int type, int reduction) {
  return guarded(
      [&] { ::ccl::allreduce(in, out, count, type_of(type), reduction_of(reduction), handle->communicator).wait(); });
}

// ::ccl::allgather() is newer than the oldest version that tutti supports.
int allgather(Handle* handle, const void* in, void* out, std::size_t count, int type, Event* event) {
  std::fill(handle->output_counts.begin(), handle->output_counts.end(), count);
  return started(event, [&] {
    return ::ccl::allgatherv(in, count, out, handle->output_counts, type_of(type), handle->communicator,
                             handle->stream);
  });
}

int allgatherv(Handle* handle, const void* in, std::size_t count, void* out, const std::uint64_t* out_counts, int type,
               Event* event) {
  std::copy_n(out_counts, handle->output_counts.size(), handle->output_counts.begin());
  return started(event, [&] {
    return ::ccl::allgatherv(in, count, out, handle->output_counts, type_of(type), handle->communicator,
                             handle->stream);
  });
}

int reduce_scatter(Handle* handle, const void* in, void* out, std::size_t count, int type, int reduction,
                   Event* event) {
  return started(event, [&] {
    return ::ccl::reduce_scatter(in, out, count, type_of(type), reduction_of(reduction), handle->communicator,
                                 handle->stream);
  });
}

int broadcast(Handle* handle, void* buffer, std::size_t count, int type, int root, Event* event) {
  return started(event, [&] {
    return ::ccl::broadcast(buffer, count, type_of(type), root, handle->communicator, handle->stream);
  });
}

int reduce(Handle* handle, const void* in, void* out, std::size_t count, int type, int reduction, int root,
           Event* event) {
  return started(event, [&] {
    return ::ccl::reduce(in, out, count, type_of(type), reduction_of(reduction), root, handle->communicator,
                         handle->stream);
  });
}

int alltoall(Handle* handle, const void* in, void* out, std::size_t count, int type, Event* event) {
  return started(event,
                 [&] { return ::ccl::alltoall(in, out, count, type_of(type), handle->communicator, handle->stream); });
}

int alltoallv(Handle* handle, const void* in, const std::uint64_t* in_counts, void* out,
              const std::uint64_t* out_counts, int type, Event* event) {
  std::copy_n(in_counts, handle->input_counts.size(), handle->input_counts.begin());
  std::copy_n(out_counts, handle->output_counts.size(), handle->output_counts.begin());
  return started(event, [&] {
    return ::ccl::alltoallv(in, handle->input_counts, out, handle->output_counts, type_of(type), handle->communicator,
                            handle->stream);
  });
}

int barrier(Handle* handle, Event* event) {
  // ccl::barrier() returns when all ranks have come: too late for a thread that must let others in meanwhile.
  if (turns.are_taken() && !handle->has_queue) {
    return started(event, [&] {
      return ::ccl::allreduce(&handle->arrival, &handle->arrivals, 1, ::ccl::datatype::int32, ::ccl::reduction::sum,
                              handle->communicator, handle->stream);
    });
  }
  return started(event, [&] { return ::ccl::barrier(handle->communicator, handle->stream); });
}

int release(Event* event) {
  return guarded([&] {
    const Turn turn(turns);
    std::destroy_at(std::launder(reinterpret_cast<::ccl::event*>(event->bytes)));
  });
}

int wait(Event* event) {
  auto* const under_way = std::launder(reinterpret_cast<::ccl::event*>(event->bytes));
  return guarded([&] {
    Turn turn(turns);
    const std::unique_ptr<::ccl::event, void (*)(::ccl::event*)> ended(under_way, &std::destroy_at<::ccl::event>);
    finish(*under_way, turn);
  });
}

constexpr Bridge kBridge = {.abi = kBridgeAbi,
                            .error = error,
                            .version = version,
                            .init = init,
                            .create_main_kvs = create_main_kvs,
                            .create_kvs = create_kvs,
                            .create_communicator = create_communicator,
                            .create_on_queue = create_on_queue,
                            .bind_queue = bind_queue,
                            .destroy_communicator = destroy_communicator,
                            .allreduce = allreduce,
                            .whole_allreduce = whole_allreduce,
                            .whole_allreduce_in_turn = whole_allreduce_in_turn,
                            .allgather = allgather,
                            .allgatherv = allgatherv,
                            .reduce_scatter = reduce_scatter,
                            .broadcast = broadcast,
                            .reduce = reduce,
                            .alltoall = alltoall,
                            .alltoallv = alltoallv,
                            .barrier = barrier,
                            .wait = wait,
                            .release = release};

}  // namespace
}  // namespace tutti::ccl

extern "C" [[gnu::visibility("default")]] const tutti::ccl::Bridge* tutti_ccl_bridge() { return &tutti::ccl::kBridge; }
