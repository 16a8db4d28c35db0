#include "mpi/mpi_record.hpp"

#include <optional>

#include "mpi/mpi_library.hpp"
#include "mpi/recorded_operation.hpp"
#include "record/rank_writer.hpp"
#include "record/record_merger.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::mpi {

using mpi_table::Function;
using mpi_table::FunctionKind;
using mpi_table::Row;

constinit std::atomic<bool> is_writing{false};

namespace {

[[gnu::constructor]] void begin_to_write() noexcept {
  if (record_folder()[0] != '\0') is_writing.store(true, std::memory_order_relaxed);
}

/// The part of this rank, made by its first operation: a program that leaves MPI to tutti makes none. Null if it cannot
/// be made; then nothing is written.
replay::RankWriter* writer() noexcept {
  // Never destroyed: MPI may be called while the process exits.
  static replay::RankWriter* const only = []() -> replay::RankWriter* {
    try {
      const std::optional<WorldPlace> place = world_place();
      if (!place) return nullptr;
      auto* made = new replay::RankWriter(record_folder(), place->rank, place->size, replay::RankWriter::kDefaultLimit,
                                          replay::kMpiParts);
      made->set_backend(backend_name());
      return made;
    } catch (...) {
      is_writing.store(false, std::memory_order_relaxed);
      return nullptr;  // the merger says that the rank left no part
    }
  }();
  return only;
}

std::uint64_t next_id() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Number of a communicator in the part; described when it is first used.
std::uint32_t number_of(replay::RankWriter& part, Communicator& communicator, Word handle) {
  static constinit std::atomic<std::uint32_t> last{0};
  std::uint32_t number = communicator.record_number.load(std::memory_order_relaxed);
  if (number != 0) [[likely]]
    return number;
  number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint32_t expected = 0;
  if (!communicator.record_number.compare_exchange_strong(expected, number, std::memory_order_relaxed)) return expected;
  char name[512] = {};  // MPI_MAX_OBJECT_NAME is 64 to 256
  int length = 0;
  (void)pmpi::comm_get_name(handle, name, &length);
  part.add_communicator({.number = number,
                         .name = name,
                         .ranks = {},
                         .key = communicator.key,
                         .rank = communicator.rank,
                         .size = communicator.size});
  return number;
}

/// A call in the making.
struct Call {
  replay::RankWriter& part;
  Row row;
  const Arguments& arguments;
  std::uint32_t communicator;
  std::uint64_t time_ns;

  [[nodiscard]] std::uint64_t begin(RecordedOperation& operation, std::uint64_t group = 0) const {
    replay::SeenOperation& seen = operation.seen();
    seen.communicator = communicator;
    const std::uint64_t id = next_id();
    part.begin(seen, id, group, time_ns);
    return id;
  }
  [[nodiscard]] WrittenCall leave_out() const {
    part.leave_out(mpi_table::function(row).name);
    return {};
  }
};

bool is_any(RecordedOperation& receive) {
  const replay::SeenOperation& seen = receive.seen();
  return seen.root == replay::kAny || seen.tag == replay::kAny;
}

/// MPI_Sendrecv and MPI_Sendrecv_replace: a send and a receive that begin together.
WrittenCall write_exchange(const Call& call) {
  const bool replaces = call.row == Row::Sendrecv_replace;
  RecordedOperation send;
  RecordedOperation receive;
  bool sends_null = false;
  bool receives_null = false;
  send.take_message(OpKind::send, call.arguments, 1, 2, 3, 4, sends_null);
  if (replaces)
    receive.take_message(OpKind::recv, call.arguments, 1, 2, 5, 6, receives_null);
  else
    receive.take_message(OpKind::recv, call.arguments, 6, 7, 8, 9, receives_null);
  if (!receives_null && is_any(receive)) return call.leave_out();
  if (sends_null && receives_null) return {};
  if (sends_null || receives_null) return {call.begin(sends_null ? receive : send), 0};
  const std::uint64_t group = next_id();
  const std::uint64_t first = call.begin(send, group);
  return {first, call.begin(receive, group)};
}

WrittenCall write_message(const Call& call) {
  if (call.row == Row::Sendrecv || call.row == Row::Sendrecv_replace) return write_exchange(call);
  const Function& function = mpi_table::function(call.row);
  const bool receives = function.operation == "recv";
  const bool sends = function.operation.ends_with("send");
  if (!receives && !sends) return call.leave_out();
  RecordedOperation operation;
  bool is_null = false;
  operation.take_message(receives ? OpKind::recv : OpKind::send, call.arguments, function.at.count, function.at.type,
                         function.at.peer, function.at.peer + 1, is_null);
  if (is_null) return {};
  operation.seen().async = function.at.request >= 0;
  return {call.begin(operation), 0, is_any(operation)};
}

}  // namespace

WrittenCall write_begin(Row row, const Arguments& arguments, Communicator* communicator, Word handle,
                        std::uint64_t time_ns) noexcept {
  replay::RankWriter* const part = writer();
  if (part == nullptr) return {};
  try {
    Call call{*part, row, arguments, 0, time_ns};
    const Function& function = mpi_table::function(row);
    const bool is_collective = function.kind == FunctionKind::collective;
    if (communicator == nullptr || (!is_collective && function.kind != FunctionKind::message)) return call.leave_out();
    call.communicator = number_of(*part, *communicator, handle);
    if (!is_collective) return communicator->remote_size > 0 ? call.leave_out() : write_message(call);
    RecordedOperation operation;
    if (!operation.take_collective(row, arguments, *communicator)) return call.leave_out();
    return {call.begin(operation), 0};
  } catch (...) {
    return {};  // out of memory: one operation is missing
  }
}

void write_end(const WrittenCall& call, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
  replay::RankWriter* const part = writer();
  if (part == nullptr || call.first == 0) return;
  try {
    if (call.second != 0) (void)part->begin_wait(call.first, begin_ns);
    (void)part->end(call.first, end_ns);
    if (call.second != 0) (void)part->end(call.second, end_ns);
  } catch (...) {
    // The time of one operation is missing.
  }
}

void write_wait(std::uint64_t id, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
  replay::RankWriter* const part = writer();
  if (part == nullptr) return;
  try {
    (void)part->begin_wait(id, begin_ns);
    (void)part->end(id, end_ns);
  } catch (...) {
    // The wait is missing; a replay waits at its end.
  }
}

void write_sender(std::uint64_t id, std::int32_t rank, std::int32_t tag) noexcept {
  replay::RankWriter* const part = writer();
  if (part == nullptr) return;
  try {
    part->meet(id, rank, tag);
  } catch (...) {
    // The part will end before this receive.
  }
}

void end_writing() noexcept {
  if (replay::RankWriter* const part = writer(); part != nullptr) part->finish();
}

}  // namespace tutti::profiling::mpi
