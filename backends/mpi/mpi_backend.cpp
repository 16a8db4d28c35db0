#include "mpi_backend.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <type_traits>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::mpi {
namespace {

constexpr std::uint32_t bit(OpKind kind) noexcept { return 1u << static_cast<unsigned>(kind); }

/// Operations that are one MPI call with unchanged arguments.
constexpr std::uint32_t plain_kinds(int size) noexcept {
  std::uint32_t kinds = 0;
  for (const OpTraits& row : kOpTraits) {
    // With one rank MPI copies the input of a reduction, but logical reductions must yield 0 or 1.
    if (!is_vector(row.kind) && !(size == 1 && row.reduces)) kinds |= bit(row.kind);
  }
  return kinds;
}

/// The displacements of the layout. If it has counts only, those of packed blocks, which are written to `storage`.
const std::uint64_t* displacements_of(const BlockLayout& layout, std::size_t size, std::uint64_t* storage) {
  if (layout.displacements != nullptr || layout.counts == nullptr) return layout.displacements;
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < size; begin += layout.counts[rank], ++rank) storage[rank] = begin;
  return storage;
}

void narrow(const BlockLayout& layout, std::size_t size, int* counts, int* displacements) {
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < size; begin += layout.counts[rank], ++rank) {
    counts[rank] = static_cast<int>(layout.counts[rank]);
    displacements[rank] = static_cast<int>(layout.displacements != nullptr ? layout.displacements[rank] : begin);
  }
}

std::string in_words(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

}  // namespace

spi::Capabilities capabilities() {
  spi::Capabilities result;
  for (const OpTraits& row : kOpTraits) result.add(row.kind);
  for (DataType type : kDataTypes) {
    result.add(type);
    for (Reduction reduction : kReductions) {
      if (reduction != Reduction::average && is_combined(reduction, type)) result.add(reduction, type);
    }
  }
  return result;
}

Communicator::Communicator(Runtime& runtime, MPI_Comm comm, const CountLimits& limits)
    : BackendCommunicator(mpi::capabilities()),
      LibraryUser(&Communicator::raise, this),
      api_(runtime.api()),
      group_{comm, 0, 1, &runtime.types()},
      max_count_(limits.max_count),
      large_calls_(limits.large_calls && api_.has_large_counts),
      // MPICH 4.0 reads through MPI_IN_PLACE as if it were a buffer when the root of MPI_Reduce is not rank 0.
      reduces_in_place_(!runtime.version().starts_with("MPICH")),
      plain_kinds_(0),
      plain_allreduce_end_(0),
      runtime_(runtime) {
  check(api_, api_.comm_set_errhandler(comm, api_.handles.errors_return), "creating a communicator");
  check(api_, api_.comm_rank(comm, &group_.rank), "creating a communicator");
  check(api_, api_.comm_size(comm, &group_.size), "creating a communicator");
  plain_kinds_ = plain_kinds(group_.size);
  if ((plain_kinds_ & bit(OpKind::allreduce)) != 0 && gate().admits_all()) plain_allreduce_end_ = max_count_ + 1;
  runtime_.users().add(*this);
}

Communicator::~Communicator() {
  runtime_.users().remove(*this);
  if (failure_.has_failed() || runtime_.is_finalized()) return;
  // If this thread may not call MPI, MPI_Finalize frees the communicator.
  if (const Entry entry(gate(), std::nothrow); entry) api_.comm_free(&group_.comm);
}

bool Communicator::is_moved(const Operation& operation) const noexcept {
  // MPI refuses equal addresses also where this rank's block is empty.
  if (operation.count == 0) return operation.kind == OpKind::reduce_scatterv && operation.output == operation.input;
  if (operation.kind == OpKind::reduce_scatter) {
    return operation.output ==
           detail::at(operation.input, static_cast<std::uint64_t>(group_.rank) * operation.block_bytes());
  }
  if (operation.kind == OpKind::reduce_scatterv) {
    const std::uint64_t* const counts = operation.input_layout.counts;
    const std::uint64_t begin = std::accumulate(counts, counts + group_.rank, std::uint64_t{0});
    return operation.output == detail::at(operation.input, begin * size_of(operation.type));
  }
  return operation.kind == OpKind::reduce && operation.input == operation.output && operation.root == group_.rank &&
         operation.root != 0 && !reduces_in_place_;
}

bool Communicator::do_may_reach(const Operation& operation) const {
  const GpuSupport& gpus = runtime_.gpus();
  if ((!gpus.cuda && !gpus.level_zero) || group_.size == 1 || operation.count > max_count_) return false;
  // This backend's own steps (copies around the MPI call, reductions inside it) run on the host, which cannot touch
  // device memory. The decision may depend only on properties that are equal on all ranks.
  const bool scatters = operation.kind == OpKind::reduce_scatter || operation.kind == OpKind::reduce_scatterv;
  if (scatters || (operation.kind == OpKind::reduce && !reduces_in_place_)) return false;
  if (operation.traits().reduces && runtime_.types().is_own(operation.reduction, operation.type)) return false;
  spi::DeviceRuntime& runtime = spi::device_runtime(operation.where.device);
  const std::vector<DeviceInfo> devices = runtime.devices();
  const auto device = std::ranges::find(devices, operation.where.device, &DeviceInfo::device);
  return gpus.takes(runtime.name(), device == devices.end() ? std::string_view() : device->driver);
}

bool Communicator::is_plain(const Operation& operation) const noexcept {
  return operation.count <= max_count_ && (plain_kinds_ & bit(operation.kind)) != 0 && !is_moved(operation);
}

void Communicator::do_run(const Operation& operation) {
  // Fast path for the most frequent call, in a function that needs few registers.
  if (operation.kind != OpKind::allreduce || operation.timeout.count() != 0 || !is_plain_allreduce(operation)) {
    return run_any(operation);
  }
  const void* in = operation.input == operation.output ? MPI_IN_PLACE : operation.input;
  const spi::LibraryCalls::Scope scope(calls_, operation);
  const int code = api_.blocking.allreduce(in, operation.output, static_cast<int>(operation.count),
                                           group_.types->datatype(operation.type),
                                           group_.types->operation(operation.reduction, operation.type), group_.comm);
  if (code != MPI_SUCCESS) [[unlikely]]
    fail(operation, code);
}

void Communicator::run_any(const Operation& operation) {
  check_alive(operation);
  const Entry entry(gate());
  if (operation.timeout.count() != 0) [[unlikely]]
    return (void)do_start(operation)->wait(spi::Deadline::max());
  const spi::LibraryCalls::Scope scope(calls_, operation);
  if (!is_plain(operation)) [[unlikely]]
    return carry_out(operation, kMessageTag, nullptr);
  MPI_Status status;
  const int code = issue(api_.blocking, group_, operation, {}, kMessageTag, &status);
  if (code != MPI_SUCCESS) [[unlikely]]
    fail(operation, code);
  if (operation.kind == OpKind::recv) check_length(operation, status);
}

std::unique_ptr<spi::PendingOperation> Communicator::do_start(const Operation& operation) {
  check_alive(operation);
  const Entry entry(gate());
  auto pending = std::make_unique<Pending>(*this, operation);
  carry_out(operation, kMessageTag, pending.get());
  return pending;
}

std::unique_ptr<spi::PendingOperation> Communicator::do_start_group(std::span<const Operation> operations) {
  check_alive(operations.front());
  const Entry entry(gate());
  auto pending = std::make_unique<Pending>(*this, operations.front());
  for (const Operation& operation : operations) carry_out(operation, kMessageTag, pending.get());
  return pending;
}

std::vector<std::string> Communicator::do_settings() const { return {"thread level=" + level_name(gate().level())}; }

void Communicator::do_abort() noexcept {
  (void)do_interrupt(Error(ErrorCode::aborted, "the communicator was aborted", "mpi"));
}

bool Communicator::do_interrupt(const Error& cause) noexcept { return runtime_.users().interrupt(*this, cause); }

void Communicator::raise(const void* communicator, const Operation& operation) {
  const auto& self = *static_cast<const Communicator*>(communicator);
  self.failure_.rethrow(self.where(operation));
}

void Communicator::give_up(const Error& cause) noexcept {
  (void)failure_.keep(cause);
  runtime_.skip_finalize();
}

template <typename Blocking, typename Nonblocking, typename Layouts>
void Communicator::call(const Blocking& blocking, const Nonblocking& nonblocking, const Operation& operation,
                        const Layouts& layouts, int tag, Pending* pending) {
  MPI_Status status;
  const int code = pending == nullptr
                       ? issue(blocking, group_, operation, layouts, tag, &status)
                       : issue(nonblocking, group_, operation, layouts, tag, nullptr, pending->add_request(operation));
  if (code == MPI_SUCCESS) {
    if (pending == nullptr && operation.kind == OpKind::recv) check_length(operation, status);
    return;
  }
  if (pending != nullptr) pending->remove_request();
  fail(operation, code);
}

void Communicator::carry_out(const Operation& operation, int tag, Pending* pending) {
  const bool reduces = operation.traits().reduces;
  if (group_.size == 1 && reduces) return combine_alone(operation);
  if (is_vector(operation.kind)) {
    return group_.size == 1 ? copy_alone(operation) : carry_out_vector(operation, pending);
  }
  const bool fits = operation.count <= max_count_;
  // MPI passes int lengths to tutti's own operations.
  const bool large = large_calls_ && !(reduces && group_.types->is_own(operation.reduction, operation.type));
  if (!fits && !large) return carry_out_split(operation, pending);

  Operation moved;
  const Operation* what = &operation;
  Storage* storage = nullptr;
  if (is_moved(operation)) {
    storage = pending != nullptr ? &pending->add_storage() : &storage_;
    moved = operation;
    moved.output = storage->result_for(operation.output, operation.block_bytes());
    what = &moved;
  }
  if (fits) {
    call(api_.blocking, api_.nonblocking, *what, Vectors<int, int>{}, tag, pending);
  } else {
    call(api_.large, api_.large_nonblocking, *what, Vectors<MPI_Count, MPI_Aint>{}, tag, pending);
  }
  if (storage != nullptr && pending == nullptr) storage->finish();
}

void Communicator::carry_out_vector(const Operation& operation, Pending* pending) {
  const bool is_own = operation.traits().reduces && group_.types->is_own(operation.reduction, operation.type);
  if ((!large_calls_ || is_own) && Split::is_needed(operation, group_.rank, group_.size, max_count_)) {
    return carry_out_split(operation, pending);
  }
  Storage& storage = pending != nullptr ? pending->add_storage() : storage_;
  Operation moved = operation;
  if (is_moved(operation)) moved.output = storage.result_for(operation.output, operation.block_bytes());
  if (large_calls_) {
    call_wide_vector(moved, storage, pending);
  } else {
    call_narrow_vector(moved, storage, pending);
  }
  if (pending == nullptr) storage.finish();
}

void Communicator::call_wide_vector(const Operation& operation, Storage& storage, Pending* pending) {
  static_assert(sizeof(MPI_Count) == sizeof(std::uint64_t) && sizeof(MPI_Aint) == sizeof(std::uint64_t));
  const auto size = static_cast<std::size_t>(group_.size);
  storage.wide.resize(2 * size);
  const std::uint64_t* in = displacements_of(operation.input_layout, size, storage.wide.data());
  const std::uint64_t* out = displacements_of(operation.output_layout, size, storage.wide.data() + size);
  const Vectors<MPI_Count, MPI_Aint> layouts = {
      reinterpret_cast<const MPI_Count*>(operation.input_layout.counts), reinterpret_cast<const MPI_Aint*>(in),
      reinterpret_cast<const MPI_Count*>(operation.output_layout.counts), reinterpret_cast<const MPI_Aint*>(out)};
  call(api_.large, api_.large_nonblocking, operation, layouts, kMessageTag, pending);
}

void Communicator::call_narrow_vector(const Operation& operation, Storage& storage, Pending* pending) {
  const auto size = static_cast<std::size_t>(group_.size);
  storage.narrow.resize(4 * size);
  int* const part = storage.narrow.data();
  const Vectors<int, int> layouts = {part, part + size, part + 2 * size, part + 3 * size};
  if (operation.input_layout.counts != nullptr) narrow(operation.input_layout, size, part, part + size);
  if (operation.output_layout.counts != nullptr)
    narrow(operation.output_layout, size, part + 2 * size, part + 3 * size);
  call(api_.blocking, api_.nonblocking, operation, layouts, kMessageTag, pending);
}

void Communicator::carry_out_split(const Operation& operation, Pending* pending) {
  Storage own;
  Storage& storage = pending != nullptr ? pending->add_storage() : own;
  storage.split = std::make_unique<Split>(operation, group_.rank, group_.size, max_count_);
  const Split& split = *storage.split;
  if (split.rest() != nullptr) call_narrow_vector(*split.rest(), storage, pending);

  const int tag = is_message(operation.kind) ? kMessageTag : kStepTag;
  const auto make_calls = [&](Pending* where) {
    for (const Operation& step : split.steps()) carry_out(step, tag, where);
  };
  if (pending != nullptr) return make_calls(pending);
  if (split.has_messages() && !is_message(operation.kind)) {
    Pending messages(*this, operation);
    make_calls(&messages);
    (void)messages.wait(spi::Deadline::max());
  } else {
    // One after the other, so that MPI needs its internal memory for one chunk only.
    make_calls(nullptr);
  }
  storage.finish();
}

void Communicator::combine_alone(const Operation& operation) {
  if (operation.count == 0) return;
  void* const outputs[] = {operation.output};
  const void* const inputs[] = {operation.input};
  spi::reduce_kernel(operation.reduction, operation.type)(outputs, 1, inputs, 1, operation.count, {});
}

void Communicator::copy_alone(const Operation& operation) {
  const auto begin = [](const BlockLayout& layout) {
    return layout.displacements != nullptr ? layout.displacements[0] : 0;
  };
  const std::uint64_t width = size_of(operation.type);
  const std::uint64_t count =
      operation.input_layout.counts != nullptr ? operation.input_layout.counts[0] : operation.count;
  const auto* from = static_cast<const std::byte*>(operation.input) + begin(operation.input_layout) * width;
  auto* to = static_cast<std::byte*>(operation.output) + begin(operation.output_layout) * width;
  if (from != to && count != 0) spi::copy(to, from, count * width, false);
}

std::string Communicator::where(const Operation& operation) const {
  return describe(operation) + " on rank " + std::to_string(group_.rank) + " of " + std::to_string(group_.size) +
         " (mpi)";
}

void Communicator::check_length(const Operation& receive, const MPI_Status& status) const {
  MPI_Count sent = 0;
  if (const int code = api_.get_elements_x(&status, api_.handles.byte, &sent); code != MPI_SUCCESS) fail(receive, code);
  if (std::cmp_equal(sent, receive.block_bytes())) return;
  throw Error(ErrorCode::invalid_usage,
              where(receive) + ": rank " + std::to_string(receive.root) + " sent " + std::to_string(sent) + " B, " +
                  std::to_string(receive.block_bytes()) +
                  " B were expected; send and recv of a message must have the same count and type",
              "mpi");
}

void Communicator::fail(const Operation& operation, int code) const {
  throw Error(ErrorCode::backend_failure, where(operation) + ": " + error_text(api_, code), "mpi", code);
}

void Communicator::fail_late(const Operation& operation) {
  const Error late(
      ErrorCode::timeout,
      where(operation) + ": not complete after " + in_words(operation.timeout) +
          "; MPI cannot cancel it, so the communicator is no longer usable and MPI may still write to the buffers",
      "mpi");
  give_up(late);
  throw Error(late);
}

}  // namespace tutti::mpi
