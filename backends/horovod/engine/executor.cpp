#include "engine/executor.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
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

std::byte* FusionBuffer::get(std::size_t bytes) {
  if (bytes > memory_.size()) {
    memory_ = {};
    memory_ = SharedArray<std::byte>(bytes);
  }
  return memory_.data();
}

Executor::Executor(spi::BackendCommunicator& data, const Options& options, Timeline* timeline)
    : data_(data), options_(options), timeline_(timeline) {
  const std::string& name = data.name();
  for (const char c : name.substr(0, name.find(':')))
    activity_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

/// Begins an activity of the current tensors in the timeline.
void Executor::show(std::string_view activity) {
  if (timeline_->is_running())
    timeline_->activity_started(response_->names, activity, std::chrono::steady_clock::now());
}

void Executor::begin(const Response& response, std::vector<EntryPointer> entries) {
  response_ = &response;
  entries_ = std::move(entries);
  batch_ = next_batch();
  piece_ = 0;
  pieces_.clear();
  if (is_cut(response.kind)) {
    pieces_ = pieces_of(response, options_.piece_bytes);
  } else if (response.kind != MessageKind::barrier) {
    pieces_.push_back({0, 1, 0});
  }
}

std::vector<EntryPointer> Executor::finish() {
  response_ = nullptr;
  return std::move(entries_);
}

bool Executor::advance(spi::Deadline until) {
  for (; piece_ < pieces_.size(); ++piece_) {
    if (response_->kind == MessageKind::adasum) {
      run_adasum();
      continue;
    }
    if (pending_ == nullptr) {
      begin_ns_ = observer() != nullptr ? observer_time_ns() : 0;
      by_gathering_ = false;
      start_piece();
    }
    if (!pending_->wait(until)) return false;
    pending_.reset();
    report();
    finish_piece();
  }
  return true;
}

void Executor::start_piece() {
  switch (response_->kind) {
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
  if (response_->kind == MessageKind::allreduce) finish_reduction();
  if (response_->kind == MessageKind::allgather) finish_allgather();
  if (response_->kind == MessageKind::reducescatter) finish_reducescatter();
}

/// A broadcast or a call.
void Executor::start_one() {
  const Entry& entry = *entries_.front();
  Operation operation = entry.operation;
  if (response_->kind == MessageKind::call) {
    operation.timeout = kLongestTimeout;
    return start(operation);
  }
  operation = operation_of(OpKind::broadcast, *response_);
  operation.input = entry.operation.input;
  operation.output = entry.operation.output;
  operation.count = response_->counts.front();
  start(operation);
}

void Executor::start(const Operation& operation) {
  if (timeline_->is_running()) {
    std::string activity = activity_ + "_" + std::string(name(response_->kind));
    show(activity);
  }
  pending_kind_ = operation.kind;
  pending_bytes_ = message_bytes(operation, options_.size);
  pending_ = data_.start(operation);
}

/// Tells the observer about the operation that is complete.
void Executor::report() noexcept {
  Observer* const target = observer();
  if (target == nullptr || begin_ns_ == 0) return;
  const Piece& piece = pieces_[piece_];
  target->on(InnerOperation{.kind = pending_kind_,
                            .bytes = pending_bytes_,
                            .parts = static_cast<std::uint32_t>(piece.end - piece.begin),
                            .batch = batch_,
                            .rank = options_.rank,
                            .size = options_.size,
                            .begin_ns = begin_ns_,
                            .end_ns = observer_time_ns()});
}

/// The tensor of a piece that is reduced where it is, without the fusion buffer.
const Entry* Executor::direct(const Piece& piece) const {
  const Entry* only = piece.end - piece.begin == 1 ? entries_[piece.begin].get() : nullptr;
  return only != nullptr && only->operation.type == response_->type ? only : nullptr;
}

/// Copies a tensor out of the fusion buffer.
void Executor::give_back(std::size_t tensor, const std::byte* result) {
  const Entry* entry = entries_[tensor].get();
  const std::uint64_t count = response_->counts[tensor];
  if (entry == nullptr || count == 0) return;
  decompress(entry->operation.output, entry->operation.type, result, response_->type, count);
}

void Executor::start_reduction() {
  const Piece& piece = pieces_[piece_];
  if (const Entry* only = direct(piece)) {
    start_allreduce(only->operation.input, only->operation.output, piece.count);
    return;
  }
  const void* input = gather_input(piece);
  start_allreduce(input, buffer_.get(piece.count * size_of(response_->type)), piece.count);
}

const void* Executor::gather_input(const Piece& piece) {
  show("MEMCPY_IN_FUSION_BUFFER");
  std::byte* to = buffer_.get(piece.count * size_of(response_->type));
  const void* begin = to;
  for (std::size_t i = piece.begin; i < piece.end; ++i) {
    const std::size_t bytes = response_->counts[i] * size_of(response_->type);
    if (entries_[i] == nullptr) {
      std::memset(to, 0, bytes);
    } else if (bytes > 0) {
      const Operation& tensor = entries_[i]->operation;
      compress(to, response_->type, tensor.input, tensor.type, response_->counts[i]);
    }
    to += bytes;
  }
  return begin;
}

void Executor::start_allreduce(const void* input, void* output, std::uint64_t count) {
  Operation operation = operation_of(OpKind::allreduce, *response_);
  operation.count = count;
  operation.input = input;
  operation.output = output;
  const spi::Capabilities& has = data_.capabilities();
  if (operation.reduction == Reduction::average && !has.has(Reduction::average, operation.type)) {
    operation.reduction = Reduction::sum;
  }
  by_gathering_ = !has.takes(operation);
  if (response_->prescale != 1.0 && !by_gathering_ && has.has_prescale(operation.reduction)) {
    operation.prescale = response_->prescale;
  } else if (response_->prescale != 1.0) {
    if (input != output) spi::copy(output, input, count * size_of(operation.type), false);
    spi::scale(output, count, operation.type, response_->prescale, 1);
    operation.input = output;
  }
  if (by_gathering_) {
    Operation gather = operation_of(OpKind::allgather, *response_);
    gather.type = DataType::uint8;
    gather.count = count * size_of(operation.type);
    gather.input = operation.input;
    gather.output = gathered_.get(gather.count * static_cast<std::size_t>(options_.size));
    start(gather);
    return;
  }
  start(operation);
}

void Executor::scale_result(void* data, std::uint64_t count) const {
  const bool divides = response_->reduction == Reduction::average &&
                       (by_gathering_ || !data_.capabilities().has(Reduction::average, response_->type));
  if (!divides && response_->postscale == 1.0) return;
  spi::scale(data, count, response_->type, response_->postscale,
             divides ? static_cast<std::uint64_t>(options_.size) : 1);
}

/// Reduces the contributions that have been gathered.
void Executor::combine_gathered(void* result, std::uint64_t count) {
  if (count == 0) return;
  std::vector<const void*> inputs;
  const std::byte* part = gathered_.get(0);
  for (int rank = 0; rank < options_.size; ++rank, part += count * size_of(response_->type)) inputs.push_back(part);
  const Reduction reduction = response_->reduction == Reduction::average ? Reduction::sum : response_->reduction;
  spi::reduce_kernel(reduction, response_->type)(&result, 1, inputs.data(), options_.size, count, {});
}

void Executor::finish_reduction() {
  const Piece& piece = pieces_[piece_];
  const std::size_t element = size_of(response_->type);
  const Entry* only = direct(piece);
  auto* result = only != nullptr ? static_cast<std::byte*>(only->operation.output) : buffer_.get(piece.count * element);
  if (by_gathering_) combine_gathered(result, piece.count);
  scale_result(result, piece.count);
  if (only != nullptr) return;
  show("MEMCPY_OUT_FUSION_BUFFER");
  for (std::size_t i = piece.begin; i < piece.end; ++i) {
    give_back(i, result);
    result += response_->counts[i] * element;
  }
}

/// Blocks until it is complete: many short exchanges, each of which depends on the one before.
void Executor::run_adasum() {
  const std::size_t element = size_of(response_->type);
  const Piece all{0, response_->counts.size(), response_->bytes() / element};
  (void)gather_input(all);
  std::byte* data = buffer_.get(0);
  if (response_->prescale != 1.0) spi::scale(data, all.count, response_->type, response_->prescale, 1);
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
  const std::vector<std::size_t> counts(response_->counts.begin(), response_->counts.end());
  Adasum(options_.rank, options_.size, exchange, options_.adasum_message)
      .run(data, gathered_.get(all.count * element), response_->type, counts);
  if (response_->postscale != 1.0) spi::scale(data, all.count, response_->type, response_->postscale, 1);
  for (std::size_t i = 0; i < counts.size(); data += counts[i] * element, ++i) give_back(i, data);
}

}  // namespace tutti::horovod
