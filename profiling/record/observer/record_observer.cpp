#include "record/observer/record_observer.hpp"

#include <algorithm>
#include <mutex>
#include <span>

namespace tutti::replay {

namespace {

/// Most processes are one rank; where ranks are threads, each keeps to its own writer.
constinit thread_local RankWriter* last_writer = nullptr;

bool is_within(const void* inner, const void* outer, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(outer);
  const auto place = reinterpret_cast<std::uintptr_t>(inner);
  return inner != nullptr && outer != nullptr && place >= begin && place - begin < bytes;
}

/// Whether one of the buffers is the other one or this rank's block of it. Of operations with a root the ranks would
/// differ: only the root has both buffers.
bool is_in_place(const Operation& op, int rank, int size) noexcept {
  const OpTraits& row = op.traits();
  if (row.rooted || row.input == Extent::none) return false;
  // A rank whose own block is empty still has a place for it.
  if (op.block_bytes() == 0 && !has_common_counts(op.kind)) return false;
  if (row.output == Extent::block && row.input == Extent::block) return op.input == op.output;
  const std::uint64_t all = op.block_bytes() * static_cast<std::uint64_t>(size);
  if (row.output == Extent::blocks && row.input == Extent::block) return is_within(op.input, op.output, all);
  if (row.input == Extent::blocks && row.output == Extent::block) return is_within(op.output, op.input, all);
  if (!has_common_counts(op.kind)) return false;
  std::uint64_t first = 0;
  const bool scatters = row.input == Extent::vector;
  const BlockLayout& layout = scatters ? op.input_layout : op.output_layout;
  for (int i = 0; i < rank; ++i) first += layout.counts[i];
  if (layout.displacements != nullptr) first = layout.displacements[rank];
  const void* const whole = scatters ? op.input : op.output;
  const void* const block = scatters ? op.output : op.input;
  return whole != nullptr && block == static_cast<const char*>(whole) + first * size_of(op.type);
}

SeenOperation seen(const OpIssued& record) noexcept {
  const Operation& op = record.operation;
  const OpTraits& row = op.traits();
  SeenOperation seen{.kind = op.kind,
                     .type = op.kind == OpKind::barrier ? DataType::uint8 : op.type,
                     .reduction = row.reduces ? op.reduction : Reduction::sum,
                     .in_place = is_in_place(op, record.rank, record.size),
                     .async = record.async && record.group == 0,
                     .communicator = static_cast<std::uint32_t>(record.communicator),
                     .root = row.rooted ? op.root : 0,
                     .count = op.kind == OpKind::alltoallv || op.kind == OpKind::barrier ? 0 : op.count,
                     .prescale = row.reduces ? op.prescale : 1,
                     .label = op.label};
  const auto ranks = static_cast<std::size_t>(record.size);
  const bool has_lists = !row.rooted || op.root == record.rank;  // those of other ranks are not used
  if (row.input == Extent::vector && has_lists) seen.in = {op.input_layout.counts, ranks};
  if (row.output == Extent::vector && has_lists) seen.out = {op.output_layout.counts, ranks};
  return seen;
}

}  // namespace

RankWriter& RecordObserver::writer_of(const CommunicatorCreated& record) {
  if (const auto parent = members_.find(record.parent); parent != members_.end()) return *parent->second.writer;
  if (job_size_ == 0) job_size_ = record.size;
  // The process's first communicator decides on the job; another one of other size is made by ranks of that job.
  const bool is_whole = record.size == job_size_;
  if (!is_whole && writers_.size() == 1) return *writers_.begin()->second;
  std::unique_ptr<RankWriter>& writer = writers_[record.rank];
  if (writer == nullptr) {
    writer = std::make_unique<RankWriter>(folder_, record.rank, job_size_, limit_);
    writer->set_backend(record.backend);
  }
  return *writer;
}

void RecordObserver::add(const CommunicatorCreated& record) {
  const std::unique_lock lock(mutex_);
  RankWriter& writer = writer_of(record);
  writer.add_communicator({.number = static_cast<std::uint32_t>(record.communicator),
                           .name = std::string(record.name),
                           .ranks = {},
                           .key = record.key,
                           .rank = record.rank,
                           .size = record.size});
  members_[record.communicator] = {&writer, record.size};
}

void RecordObserver::on(const CommunicatorCreated& record) noexcept {
  try {
    add(record);
  } catch (const std::exception&) {
    // The rank leaves no part: the merger says so.
  }
}

RecordObserver::Member RecordObserver::member(std::uint64_t communicator) noexcept {
  const std::shared_lock lock(mutex_);
  const auto found = members_.find(communicator);
  return found == members_.end() ? Member{} : found->second;
}

void RecordObserver::on(const OpIssued& record) noexcept {
  try {
    const Member one = member(record.communicator);
    if (one.writer == nullptr) return;
    last_writer = one.writer;
    one.writer->begin(seen(record), record.id, record.group, record.time_ns);
  } catch (const std::exception&) {
    // Out of memory: one operation is missing.
  }
}

template <typename Take>
void RecordObserver::offer(const Take& take) noexcept {
  try {
    const std::shared_lock lock(mutex_);
    const auto is_last = [](const auto& entry) { return entry.second.get() == last_writer; };
    const auto last = std::ranges::find_if(writers_, is_last);
    if (last != writers_.end() && take(*last->second)) return;
    for (const auto& [rank, writer] : writers_) {
      if (writer.get() != last_writer && take(*writer)) return;
    }
  } catch (const std::exception&) {
    // Out of memory: the time of one operation is missing.
  }
}

void RecordObserver::on(const WaitBegun& record) noexcept {
  offer([&](RankWriter& writer) { return writer.begin_wait(record.id, record.time_ns); });
}

void RecordObserver::on(const OpCompleted& record) noexcept {
  offer([&](RankWriter& writer) { return writer.end(record.id, record.time_ns); });
}

void RecordObserver::finish() noexcept {
  try {
    const std::unique_lock lock(mutex_);
    for (const auto& [rank, writer] : writers_) writer->finish();
  } catch (const std::exception&) {
    // The parts say that they are not complete.
  }
}

}  // namespace tutti::replay
