#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "c_status.hpp"
#include "tutti/allocate.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"
#include "tutti/group.hpp"
#include "tutti/info.hpp"
#include "tutti/share.hpp"
#include "tutti/tutti.h"

struct tutti_comm {
  tutti::Communicator communicator;
  std::string backend;
};

struct tutti_work {
  tutti::Work work;
};

namespace {

using tutti::Blocks;
using tutti::Buffer;
using tutti::CallOptions;
using tutti::Communicator;
using tutti::ConstBuffer;
using tutti::DataType;
using tutti::Error;
using tutti::ErrorCode;
using tutti::ReduceOptions;
using tutti::Reduction;
using tutti::detail::checked_output;
using tutti::detail::guarded;
using tutti::detail::last_error;
using tutti::detail::type_of;

static_assert(TUTTI_FLOAT64 == static_cast<int>(DataType::float64));
static_assert(TUTTI_LOGICAL_XOR == static_cast<int>(Reduction::logical_xor));
static_assert(TUTTI_CONFIG == static_cast<int>(ErrorCode::config));

Communicator& checked(tutti_comm_t comm) {
  if (comm == nullptr)
    throw Error(ErrorCode::invalid_argument,
                "comm is null; create it with tutti_world(), tutti_local_group() or tutti_comm_split()");
  return comm->communicator;
}

Reduction reduction_of(tutti_reduction op) {
  if (static_cast<unsigned>(op) >= tutti::kReductionCount) {
    throw Error(ErrorCode::invalid_argument, "reduction " + std::to_string(static_cast<int>(op)) +
                                                 " does not exist; accepted: 0 (TUTTI_SUM) to " +
                                                 std::to_string(TUTTI_LOGICAL_XOR) + " (TUTTI_LOGICAL_XOR)");
  }
  return static_cast<Reduction>(op);
}

std::chrono::nanoseconds timeout_of(const tutti_options* options) {
  if (options == nullptr) return {};
  const auto most = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(options->timeout_ns, most)));
}

std::string_view label_of(const tutti_options* options) {
  return options != nullptr && options->label != nullptr ? std::string_view(options->label) : std::string_view();
}

bool is_async(const tutti_options* options) { return options != nullptr && options->work != nullptr; }

CallOptions call_options(const tutti_options* options) {
  return {.stream = {}, .async = is_async(options), .timeout = timeout_of(options), .label = label_of(options)};
}

ReduceOptions reduce_options(const tutti_options* options, tutti_reduction op) {
  return {.op = reduction_of(op),
          .prescale = options != nullptr ? options->prescale : 1.0,
          .stream = {},
          .async = is_async(options),
          .timeout = timeout_of(options),
          .label = label_of(options)};
}

/// Runs an operation and stores its Work in options->work if the caller asked for it.
template <typename Operation>
tutti_status submit(const tutti_options* options, const Operation& operation) noexcept {
  return guarded([&] {
    tutti::Work work = operation();
    if (is_async(options)) *options->work = new tutti_work{std::move(work)};
  });
}

std::uint64_t blocks(std::uint64_t count, const Communicator& comm) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  if (count > UINT64_MAX / ranks) {
    throw Error(ErrorCode::invalid_argument,
                "count " + std::to_string(count) + " times " + std::to_string(ranks) + " ranks does not fit 64 bits");
  }
  return count * ranks;
}

/// Blocks of a vector operation. C passes no buffer length, so the buffer is assumed to end with its last block.
struct VectorSide {
  VectorSide(const std::uint64_t* counts, const std::uint64_t* displacements, const Communicator& comm) {
    if (counts == nullptr) return;
    const auto ranks = static_cast<std::size_t>(comm.size());
    layout.counts = {counts, ranks};
    if (displacements != nullptr) layout.displacements = {displacements, ranks};
    std::uint64_t packed = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t begin = displacements != nullptr ? displacements[rank] : packed;
      packed += counts[rank];
      elements = std::max(elements, begin + counts[rank]);
    }
  }
  Blocks layout;
  std::uint64_t elements = 0;
};

tutti::CommunicatorOptions communicator_options(const char* backend) {
  tutti::CommunicatorOptions options;
  if (backend != nullptr) options.config.set("TUTTI_BACKEND", backend);
  return options;
}

tutti_comm_t wrap(Communicator communicator) {
  if (!communicator) return nullptr;
  std::string backend(communicator.backend());
  return new tutti_comm{std::move(communicator), std::move(backend)};
}

}  // namespace

const char* tutti_last_error(void) { return last_error().c_str(); }
// The names are literals, so their data() is null-terminated.
const char* tutti_status_name(tutti_status status) { return tutti::name(static_cast<ErrorCode>(status)).data(); }
const char* tutti_version(void) { return tutti::version().data(); }

tutti_status tutti_world(const char* backend, tutti_comm_t* comm) {
  return guarded(
      [&] { checked_output(comm, "output argument comm") = wrap(tutti::world(communicator_options(backend))); });
}

tutti_status tutti_local_group(int size, const char* backend, tutti_comm_t* comms) {
  return guarded([&] {
    tutti_comm_t* place = &checked_output(comms, "output argument comms");
    for (Communicator& member : tutti::local_group(size, communicator_options(backend)))
      *place++ = wrap(std::move(member));
  });
}

void tutti_comm_free(tutti_comm_t comm) { delete comm; }
int tutti_comm_rank(tutti_comm_t comm) { return comm != nullptr ? comm->communicator.rank() : -1; }
int tutti_comm_size(tutti_comm_t comm) { return comm != nullptr ? comm->communicator.size() : 0; }
const char* tutti_comm_backend(tutti_comm_t comm) { return comm != nullptr ? comm->backend.c_str() : ""; }

tutti_status tutti_comm_split(tutti_comm_t comm, int color, int key, tutti_comm_t* child) {
  return guarded([&] { checked_output(child, "output argument child") = wrap(checked(comm).split(color, key)); });
}

tutti_status tutti_comm_duplicate(tutti_comm_t comm, tutti_comm_t* child) {
  return guarded([&] { checked_output(child, "output argument child") = wrap(checked(comm).duplicate()); });
}

void tutti_comm_abort(tutti_comm_t comm) {
  if (comm != nullptr) comm->communicator.abort();
}

tutti_status tutti_allocate(size_t bytes, void** data) {
  return guarded([&] {
    void*& result = checked_output(data, "output argument data");
    result = bytes == 0 ? nullptr : tutti::detail::allocate_shared(bytes);
  });
}

void tutti_free(void* data) {
  if (data != nullptr) tutti::detail::free_shared(data);
}

tutti_status tutti_share(void* data, size_t bytes) {
  return guarded([&] { tutti::detail::share(data, bytes); });
}

void tutti_unshare(void* data) {
  if (data != nullptr) tutti::detail::unshare(data);
}

tutti_status tutti_allreduce(const void* in, void* out, uint64_t count, tutti_data_type type, tutti_reduction op,
                             tutti_comm_t comm, const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    return checked(comm).allreduce(ConstBuffer(in, count, t), Buffer(out, count, t), reduce_options(options, op));
  });
}

tutti_status tutti_allgather(const void* in, void* out, uint64_t count, tutti_data_type type, tutti_comm_t comm,
                             const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    return c.allgather(ConstBuffer(in, count, t), Buffer(out, blocks(count, c), t), call_options(options));
  });
}

tutti_status tutti_reduce_scatter(const void* in, void* out, uint64_t count, tutti_data_type type, tutti_reduction op,
                                  tutti_comm_t comm, const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    return c.reduce_scatter(ConstBuffer(in, blocks(count, c), t), Buffer(out, count, t), reduce_options(options, op));
  });
}

tutti_status tutti_broadcast(const void* in, void* out, uint64_t count, tutti_data_type type, int root,
                             tutti_comm_t comm, const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    return checked(comm).broadcast(ConstBuffer(in, count, t), Buffer(out, count, t), root, call_options(options));
  });
}

tutti_status tutti_reduce(const void* in, void* out, uint64_t count, tutti_data_type type, tutti_reduction op, int root,
                          tutti_comm_t comm, const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    return checked(comm).reduce(ConstBuffer(in, count, t), Buffer(out, count, t), root, reduce_options(options, op));
  });
}

tutti_status tutti_gather(const void* in, void* out, uint64_t count, tutti_data_type type, int root, tutti_comm_t comm,
                          const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    return c.gather(ConstBuffer(in, count, t), Buffer(out, blocks(count, c), t), root, call_options(options));
  });
}

tutti_status tutti_scatter(const void* in, void* out, uint64_t count, tutti_data_type type, int root, tutti_comm_t comm,
                           const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    return c.scatter(ConstBuffer(in, blocks(count, c), t), Buffer(out, count, t), root, call_options(options));
  });
}

tutti_status tutti_alltoall(const void* in, void* out, uint64_t count, tutti_data_type type, tutti_comm_t comm,
                            const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    return c.alltoall(ConstBuffer(in, blocks(count, c), t), Buffer(out, blocks(count, c), t), call_options(options));
  });
}

tutti_status tutti_send(const void* in, uint64_t count, tutti_data_type type, int peer, tutti_comm_t comm,
                        const tutti_options* options) {
  return submit(options,
                [&] { return checked(comm).send(ConstBuffer(in, count, type_of(type)), peer, call_options(options)); });
}

tutti_status tutti_recv(void* out, uint64_t count, tutti_data_type type, int peer, tutti_comm_t comm,
                        const tutti_options* options) {
  return submit(options,
                [&] { return checked(comm).recv(Buffer(out, count, type_of(type)), peer, call_options(options)); });
}

tutti_status tutti_barrier(tutti_comm_t comm, const tutti_options* options) {
  return submit(options, [&] { return checked(comm).barrier(call_options(options)); });
}

tutti_status tutti_allgatherv(const void* in, uint64_t count, void* out, const uint64_t* counts,
                              const uint64_t* displacements, tutti_data_type type, tutti_comm_t comm,
                              const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    const VectorSide side(counts, displacements, c);
    return c.allgatherv(ConstBuffer(in, count, t), Buffer(out, side.elements, t), side.layout, call_options(options));
  });
}

tutti_status tutti_reduce_scatterv(const void* in, const uint64_t* counts, void* out, uint64_t count,
                                   tutti_data_type type, tutti_reduction op, tutti_comm_t comm,
                                   const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    const VectorSide side(counts, nullptr, c);
    return c.reduce_scatterv(ConstBuffer(in, side.elements, t), side.layout, Buffer(out, count, t),
                             reduce_options(options, op));
  });
}

tutti_status tutti_gatherv(const void* in, uint64_t count, void* out, const uint64_t* counts,
                           const uint64_t* displacements, tutti_data_type type, int root, tutti_comm_t comm,
                           const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    const VectorSide side(c.rank() == root ? counts : nullptr, displacements, c);
    return c.gatherv(ConstBuffer(in, count, t), Buffer(out, side.elements, t), side.layout, root,
                     call_options(options));
  });
}

tutti_status tutti_scatterv(const void* in, const uint64_t* counts, const uint64_t* displacements, void* out,
                            uint64_t count, tutti_data_type type, int root, tutti_comm_t comm,
                            const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    const VectorSide side(c.rank() == root ? counts : nullptr, displacements, c);
    return c.scatterv(ConstBuffer(in, side.elements, t), side.layout, Buffer(out, count, t), root,
                      call_options(options));
  });
}

tutti_status tutti_alltoallv(const void* in, const uint64_t* in_counts, const uint64_t* in_displacements, void* out,
                             const uint64_t* out_counts, const uint64_t* out_displacements, tutti_data_type type,
                             tutti_comm_t comm, const tutti_options* options) {
  return submit(options, [&] {
    const DataType t = type_of(type);
    Communicator& c = checked(comm);
    const VectorSide from(in_counts, in_displacements, c);
    const VectorSide to(out_counts, out_displacements, c);
    return c.alltoallv(ConstBuffer(in, from.elements, t), from.layout, Buffer(out, to.elements, t), to.layout,
                       call_options(options));
  });
}

tutti_status tutti_group(tutti_comm_t comm, tutti_status (*body)(void* argument), void* argument) {
  return guarded([&] {
    if (body == nullptr)
      throw Error(ErrorCode::invalid_argument,
                  "body is null; tutti_group() needs a function that calls the operations");
    checked(comm).group([&] {
      const tutti_status status = body(argument);
      if (status != TUTTI_OK) throw Error(static_cast<ErrorCode>(status), std::string(last_error()));
    });
  });
}

namespace {

/// The groups that this thread has opened by tutti_group_begin(), the innermost last.
std::vector<std::unique_ptr<tutti::GroupScope>>& open_groups() {
  thread_local std::vector<std::unique_ptr<tutti::GroupScope>> groups;
  return groups;
}

}  // namespace

tutti_status tutti_group_begin(void) {
  return guarded([] { open_groups().push_back(std::make_unique<tutti::GroupScope>()); });
}

tutti_status tutti_group_end(tutti_work_t* work) {
  return guarded([&] {
    if (open_groups().empty()) {
      throw Error(ErrorCode::invalid_usage, "this thread has no group open; call tutti_group_begin() first");
    }
    const std::unique_ptr<tutti::GroupScope> group = std::move(open_groups().back());
    open_groups().pop_back();
    tutti::Work pending = group->end();
    if (work != nullptr) {
      *work = new tutti_work{std::move(pending)};
    } else {
      pending.wait();
    }
  });
}

void tutti_group_discard(void) {
  if (!open_groups().empty()) open_groups().pop_back();
}

tutti_status tutti_work_wait(tutti_work_t work) {
  return guarded([&] { checked_output(work, "work").work.wait(); });
}

tutti_status tutti_work_wait_for(tutti_work_t work, uint64_t nanoseconds) {
  return guarded([&] {
    const tutti_options limit{1.0, nanoseconds, nullptr, nullptr};
    if (!checked_output(work, "work").work.wait_for(timeout_of(&limit))) {
      throw Error(ErrorCode::timeout, "the operation did not complete within " +
                                          tutti::format_duration(timeout_of(&limit)) +
                                          "; it continues and can be waited for again");
    }
  });
}

int tutti_work_ready(tutti_work_t work) { return work == nullptr || work->work.ready() ? 1 : 0; }
void tutti_work_free(tutti_work_t work) { delete work; }
