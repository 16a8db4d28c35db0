#include "engine/executor.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>

#include "arithmetic/adasum.hpp"
#include "arithmetic/compression.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::horovod {

namespace {

std::uint64_t next_batch() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Whether a fused response is carried out in pieces.
[[nodiscard]] bool is_cut(MessageKind kind) {
  return kind == MessageKind::allreduce || kind == MessageKind::allgather || kind == MessageKind::reducescatter;
}

}  // namespace

Operation operation_of(OpKind kind, const Response& response) {
  Operation operation;
  operation.kind = kind;
  operation.type = response.type;
  operation.reduction = response.reduction;
  operation.root = response.root;
  // The ranks have met: one that is late from now on is dead or stopped, which the inner backend notices.
  operation.timeout = kLongestTimeout;
  return operation;
}

Executor::Executor(spi::BackendCommunicator& data, const Options& options, Timeline* timeline, TensorStages* stages)
    : data_(data), options_(options), timeline_(timeline), stages_(stages) {}

/// Begins an activity of the current tensors in the timeline.
void Executor::show(std::string_view activity) {
  if (timeline_->is_running())
    timeline_->activity_started(job_->response.names, activity, std::chrono::steady_clock::now());
  stages_->activity(tensors_of_piece(), activity);
}

std::span<const EntryPointer> Executor::tensors_of_piece() const {
  if (job_->piece >= job_->pieces.size()) return {};
  return std::span(entries()).subspan(piece().begin, piece().end - piece().begin);
}

void Executor::begin(Job& job) {
  job.batch = next_batch();
  // A rank that has joined has no tensor that would tell where its zeros are to be.
  job.is_on_device = !job.response.memory.empty() && !job.response.has_joined;
  if (job.is_on_device) {
    for (const EntryPointer& entry : *job.entries) {
      if (entry->ready != nullptr) device_->wait_for(*entry->ready);
    }
  } else {
    job.images = HostImages(device_, *job.entries);
  }
  if (is_cut(job.response.kind)) {
    // Pieces are for the cache of the host.
    job.pieces = pieces_of(job.response, job.is_on_device ? 0 : options_.piece_bytes, partition_);
  } else if (job.response.kind != MessageKind::barrier) {
    job.pieces.push_back({0, 1, 0});
  }
}

void Executor::take_up(Job& job) noexcept {
  job_ = &job;
  place_ = job.is_on_device ? static_cast<Place*>(device_) : &host_;
}

Executor::Progress Executor::advance(spi::Deadline until) {
  for (; job_->piece < job_->pieces.size(); ++job_->piece) {
    if (pending_ == nullptr && is_spent()) return Progress::paused;
    if (job_->response.kind == MessageKind::adasum) {
      run_adasum();
      stages_->activity(tensors_of_piece(), {});
      continue;
    }
    if (pending_ == nullptr) {
      begin_ns_ = observer() != nullptr ? observer_time_ns() : 0;
      by_gathering_ = false;
      start_piece();
    }
    if (!pending_->wait(until)) return Progress::unfinished;
    pending_.reset();
    report();
    finish_piece();
    place_->settle();
    stages_->activity(tensors_of_piece(), {});
    spent_ += pending_bytes_;
  }
  job_->images.give_back(*job_->entries);
  return Progress::complete;
}

void Executor::start_piece() {
  switch (job_->response.kind) {
    case MessageKind::allreduce:
      return start_reduction();
    case MessageKind::allgather:
      return start_allgather();
    case MessageKind::reducescatter:
      return start_reducescatter();
    case MessageKind::alltoall:
      return start_alltoall();
    default:
      return start_one();
  }
}

void Executor::finish_piece() {
  if (job_->response.kind == MessageKind::allreduce) finish_reduction();
  if (job_->response.kind == MessageKind::allgather) finish_allgather();
  if (job_->response.kind == MessageKind::reducescatter) finish_reducescatter();
}

/// A broadcast or a call.
void Executor::start_one() {
  const Entry& entry = *entries().front();
  Operation operation = entry.operation;
  if (job_->response.kind == MessageKind::call) {
    operation.timeout = kLongestTimeout;
    return start(operation);
  }
  operation = operation_of(OpKind::broadcast, job_->response);
  operation.input = entry.operation.input;
  operation.output = entry.operation.output;
  operation.count = job_->response.counts.front();
  start(operation);
}

void Executor::start(Operation operation) {
  if (timeline_->is_running() || TensorStages::is_watched()) {
    const std::string backend = data_.route(operation).name();
    std::string activity;
    for (const char c : backend.substr(0, backend.find(':')))
      activity += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    show(activity + "_" + std::string(name(job_->response.kind)));
  }
  pending_kind_ = operation.kind;
  pending_bytes_ = message_bytes(operation, options_.size);
  if (job_->is_on_device) {
    operation.where = place_->where();
    operation.stream = place_->stream();
  }
  pending_ = data_.start(operation);
}

/// Tells the observer about the operation that is complete.
void Executor::report() noexcept {
  Observer* const target = observer();
  if (target == nullptr || begin_ns_ == 0) return;
  const Piece& piece = this->piece();
  target->on(InnerOperation{.kind = pending_kind_,
                            .bytes = pending_bytes_,
                            .parts = static_cast<std::uint32_t>(piece.end - piece.begin),
                            .batch = job_->batch,
                            .rank = options_.rank,
                            .size = options_.size,
                            .begin_ns = begin_ns_,
                            .end_ns = observer_time_ns()});
}

/// The tensor of a piece that is reduced where it is, without the fusion buffer.
const Entry* Executor::direct(const Piece& piece) const {
  const Entry* only = piece.end - piece.begin == 1 ? entries()[piece.begin].get() : nullptr;
  return only != nullptr && only->operation.type == job_->response.type ? only : nullptr;
}

/// Copies the elements of a tensor from `first` on out of the fusion buffer.
void Executor::give_back(std::size_t tensor, const std::byte* result, std::uint64_t first, std::uint64_t count) {
  const Entry* entry = entries()[tensor].get();
  if (entry == nullptr || count == 0) return;
  const DataType type = entry->operation.type;
  auto* to = static_cast<std::byte*>(entry->operation.output) + first * size_of(type);
  if (type == job_->response.type) return place_->copy(to, result, count * size_of(type));
  decompress(to, type, result, job_->response.type, count);
}

/// Elements of a tensor that belong to a piece.
std::uint64_t Executor::count_in(const Piece& piece, std::size_t tensor) const {
  return piece.end - piece.begin == 1 ? piece.count : job_->response.counts[tensor];
}

void Executor::start_reduction() {
  const Piece& piece = this->piece();
  if (const Entry* only = direct(piece)) {
    const std::size_t offset = piece.first * size_of(only->operation.type);
    start_allreduce(static_cast<const std::byte*>(only->operation.input) + offset,
                    static_cast<std::byte*>(only->operation.output) + offset, piece.count);
    return;
  }
  const void* input = gather_input(piece);
  start_allreduce(input, place_->fused(piece.count * size_of(job_->response.type)), piece.count);
}

const void* Executor::gather_input(const Piece& piece) {
  show("MEMCPY_IN_FUSION_BUFFER");
  std::byte* to = place_->fused(piece.count * size_of(job_->response.type));
  const void* begin = to;
  for (std::size_t i = piece.begin; i < piece.end; ++i) {
    const std::uint64_t count = count_in(piece, i);
    const std::size_t bytes = count * size_of(job_->response.type);
    if (entries()[i] == nullptr) {
      place_->zero(to, bytes);
    } else if (bytes > 0) {
      const Operation& tensor = entries()[i]->operation;
      const auto* from = static_cast<const std::byte*>(tensor.input) + piece.first * size_of(tensor.type);
      if (tensor.type == job_->response.type) {
        place_->copy(to, from, bytes);
      } else {
        compress(to, job_->response.type, from, tensor.type, count);
      }
    }
    to += bytes;
  }
  return begin;
}

void Executor::start_allreduce(const void* input, void* output, std::uint64_t count) {
  Operation operation = operation_of(OpKind::allreduce, job_->response);
  operation.count = count;
  operation.input = input;
  operation.output = output;
  const spi::Capabilities& has = data_.capabilities();
  if (operation.reduction == Reduction::average && !has.has(Reduction::average, operation.type)) {
    operation.reduction = Reduction::sum;
  }
  by_gathering_ = !has.takes(operation);
  if (job_->response.prescale != 1.0 && !by_gathering_ && has.has_prescale(operation.reduction)) {
    operation.prescale = job_->response.prescale;
  } else if (job_->response.prescale != 1.0) {
    place_->copy(output, input, count * size_of(operation.type));
    place_->scale(output, count, operation.type, job_->response.prescale, 1);
    operation.input = output;
  }
  if (by_gathering_) {
    Operation gather = operation_of(OpKind::allgather, job_->response);
    gather.type = DataType::uint8;
    gather.count = count * size_of(operation.type);
    gather.input = operation.input;
    gather.output = place_->gathered(gather.count * static_cast<std::size_t>(options_.size));
    start(gather);
    return;
  }
  start(operation);
}

void Executor::scale_result(void* data, std::uint64_t count) {
  const bool divides = job_->response.reduction == Reduction::average &&
                       (by_gathering_ || !data_.capabilities().has(Reduction::average, job_->response.type));
  if (!divides && job_->response.postscale == 1.0) return;
  place_->scale(data, count, job_->response.type, job_->response.postscale,
                divides ? static_cast<std::uint64_t>(options_.size) : 1);
}

/// Reduces the contributions that have been gathered.
void Executor::combine_gathered(void* result, std::uint64_t count) {
  if (count == 0) return;
  std::vector<const void*> inputs;
  const std::byte* part = place_->gathered(0);
  for (int rank = 0; rank < options_.size; ++rank, part += count * size_of(job_->response.type)) inputs.push_back(part);
  const Reduction reduction =
      job_->response.reduction == Reduction::average ? Reduction::sum : job_->response.reduction;
  spi::reduce_kernel(reduction, job_->response.type)(&result, 1, inputs.data(), options_.size, count, {});
}

void Executor::finish_reduction() {
  const Piece& piece = this->piece();
  const std::size_t element = size_of(job_->response.type);
  const Entry* only = direct(piece);
  auto* result = only != nullptr ? static_cast<std::byte*>(only->operation.output) + piece.first * element
                                 : place_->fused(piece.count * element);
  if (by_gathering_) combine_gathered(result, piece.count);
  scale_result(result, piece.count);
  if (only != nullptr) return;
  show("MEMCPY_OUT_FUSION_BUFFER");
  for (std::size_t i = piece.begin; i < piece.end; ++i) {
    const std::uint64_t count = count_in(piece, i);
    give_back(i, result, piece.first, count);
    result += count * element;
  }
}

/// Blocks until it is complete: many short exchanges, each of which depends on the one before.
void Executor::run_adasum() {
  const std::size_t element = size_of(job_->response.type);
  const Piece all{0, job_->response.counts.size(), job_->response.bytes() / element};
  (void)gather_input(all);
  std::byte* data = place_->fused(0);
  if (job_->response.prescale != 1.0) spi::scale(data, all.count, job_->response.type, job_->response.prescale, 1);
  const auto exchange = [&](int peer, std::span<const std::byte> out, std::span<std::byte> in) {
    std::vector<Operation> messages;
    const auto add = [&](OpKind kind, std::size_t bytes) -> Operation& {
      Operation& message = messages.emplace_back();
      message.kind = kind;
      message.type = DataType::uint8;
      message.root = peer;
      message.count = bytes;
      message.timeout = kLongestTimeout;
      return message;
    };
    if (!out.empty()) add(OpKind::send, out.size()).input = out.data();
    if (!in.empty()) add(OpKind::recv, in.size()).output = in.data();
    if (!messages.empty()) data_.run_group(messages);
  };
  const std::vector<std::size_t> counts(job_->response.counts.begin(), job_->response.counts.end());
  Adasum(options_.rank, options_.size, exchange, options_.adasum_message)
      .run(data, place_->gathered(all.count * element), job_->response.type, counts);
  if (job_->response.postscale != 1.0) spi::scale(data, all.count, job_->response.type, job_->response.postscale, 1);
  for (std::size_t i = 0; i < counts.size(); data += counts[i] * element, ++i) give_back(i, data, 0, counts[i]);
}

}  // namespace tutti::horovod
