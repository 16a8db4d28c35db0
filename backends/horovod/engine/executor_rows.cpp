// Operations on rows: allgather, alltoall and reducescatter.
#include <algorithm>

#include "engine/executor.hpp"
#include "engine/row_blocks.hpp"

namespace tutti::horovod {

namespace {

[[nodiscard]] bool are_equal(const std::vector<std::uint64_t>& counts) {
  return std::ranges::all_of(counts, [&](std::uint64_t count) { return count == counts.front(); });
}

}  // namespace

/// The memory for the result of a tensor.
void* Executor::give_output(Entry& entry, std::uint64_t elements) {
  entry.result_count = elements;
  if (!entry.allocates && elements <= entry.output_capacity) return entry.operation.output;
  if (!entry.allocates) {
    entry.error = Error(ErrorCode::invalid_argument,
                        "the output of '" + entry.request.name + "' has " + std::to_string(entry.output_capacity) +
                            " elements, but the result has " + std::to_string(elements),
                        "horovod");
  }
  const std::size_t bytes = elements * size_of(job_->response.type);
  if (job_->is_on_device) {
    entry.allocated = DeviceBlock(place_->stream(), MemoryKind::device, bytes);
    entry.operation.output = entry.allocated.data();
    return entry.operation.output;
  }
  entry.output.resize(bytes);
  entry.operation.output = entry.output.data();
  return entry.operation.output;
}

/// The piece's tensor, if it is the only one.
Entry* Executor::only() const {
  const Piece& piece = this->piece();
  return piece.end - piece.begin == 1 ? entries()[piece.begin].get() : nullptr;
}

void Executor::start_allgather() {
  const Piece& piece = this->piece();
  const std::size_t element = size_of(job_->response.type);
  output_counts_ = block_counts(job_->response, piece, options_.size);
  Operation operation = operation_of(OpKind::allgatherv, job_->response);
  operation.count = output_counts_[static_cast<std::size_t>(options_.rank)];
  operation.output_layout.counts = output_counts_.data();
  if (are_equal(output_counts_)) operation.kind = OpKind::allgather;
  const auto ranks = static_cast<std::ptrdiff_t>(options_.size);
  for (std::size_t tensor = piece.begin; tensor < piece.end; ++tensor) {
    const auto rows = job_->response.sizes.begin() + static_cast<std::ptrdiff_t>(tensor) * ranks;
    entries()[tensor]->received.assign(rows, rows + ranks);
    (void)give_output(*entries()[tensor], job_->response.elements(tensor));
  }
  if (const Entry* tensor = only()) {
    operation.input = tensor->operation.input;
    operation.output = tensor->operation.output;
    return start(operation);
  }
  show("MEMCPY_IN_FUSION_BUFFER");
  std::byte* to = place_->fused(operation.count * element);
  operation.input = to;
  operation.output = place_->gathered(piece.count * element);
  for (std::size_t tensor = piece.begin; tensor < piece.end; ++tensor) {
    const std::size_t bytes = block_of(job_->response, tensor, options_.rank, options_.size) * element;
    place_->copy(to, entries()[tensor]->operation.input, bytes);
    to += bytes;
  }
  start(operation);
}

void Executor::finish_allgather() {
  if (only() != nullptr) return;
  show("MEMCPY_OUT_FUSION_BUFFER");
  const std::size_t element = size_of(job_->response.type);
  const std::byte* from = place_->gathered(0);
  for_each_block(job_->response, piece(), options_.size,
                 [&](std::size_t tensor, std::uint64_t first, std::uint64_t elements) {
                   auto* to = static_cast<std::byte*>(entries()[tensor]->operation.output) + first * element;
                   place_->copy(to, from, elements * element);
                   from += elements * element;
                 });
}

void Executor::start_alltoall() {
  Entry& entry = *entries().front();
  const std::uint64_t row = job_->response.row_counts.front();
  const auto size = static_cast<std::size_t>(options_.size);
  const auto self = static_cast<std::size_t>(options_.rank);
  input_counts_.clear();
  output_counts_.clear();
  entry.received.clear();
  std::uint64_t total = 0;
  for (std::size_t peer = 0; peer < size; ++peer) {
    const std::int64_t rows = job_->response.sizes[peer * size + self];
    entry.received.push_back(rows);
    input_counts_.push_back(static_cast<std::uint64_t>(job_->response.sizes[self * size + peer]) * row);
    output_counts_.push_back(static_cast<std::uint64_t>(rows) * row);
    total += output_counts_.back();
  }
  Operation operation = operation_of(OpKind::alltoallv, job_->response);
  operation.input = entry.operation.input;
  operation.input_layout.counts = input_counts_.data();
  operation.output_layout.counts = output_counts_.data();
  operation.output = give_output(entry, total);
  start(operation);
}

/// Input of a reducescatter: the rows of all tensors by the rank that gets them.
const void* Executor::pack_by_rank(const Piece& piece) {
  show("MEMCPY_IN_FUSION_BUFFER");
  const std::size_t element = size_of(job_->response.type);
  std::byte* to = place_->fused(piece.count * element);
  const void* begin = to;
  for_each_block(job_->response, piece, options_.size,
                 [&](std::size_t tensor, std::uint64_t first, std::uint64_t elements) {
                   const auto* from = static_cast<const std::byte*>(entries()[tensor]->operation.input);
                   place_->copy(to, from + first * element, elements * element);
                   to += elements * element;
                 });
  return begin;
}

void Executor::start_reducescatter() {
  const Piece& piece = this->piece();
  const spi::Capabilities& has = data_.capabilities();
  const std::size_t element = size_of(job_->response.type);
  for (std::size_t tensor = piece.begin; tensor < piece.end; ++tensor)
    (void)give_output(*entries()[tensor], block_of(job_->response, tensor, options_.rank, options_.size));
  input_counts_ = block_counts(job_->response, piece, options_.size);
  Operation operation = operation_of(OpKind::reduce_scatterv, job_->response);
  operation.count = input_counts_[static_cast<std::size_t>(options_.rank)];
  operation.input_layout.counts = input_counts_.data();
  if (are_equal(input_counts_)) operation.kind = OpKind::reduce_scatter;
  if (operation.reduction == Reduction::average && !has.has(Reduction::average, operation.type))
    operation.reduction = Reduction::sum;
  operation.prescale = job_->response.prescale;
  const Entry* single = only();
  operation.input = single != nullptr ? single->operation.input : pack_by_rank(piece);
  reduces_all_ = !has.takes(operation);
  // A reduction or a factor that the inner backend lacks: every rank gets all of it.
  if (reduces_all_) return start_allreduce(operation.input, place_->fused(piece.count * element), piece.count);
  operation.output = single != nullptr ? single->operation.output : place_->gathered(operation.count * element);
  start(operation);
}

void Executor::finish_reducescatter() {
  const Piece& piece = this->piece();
  const std::size_t element = size_of(job_->response.type);
  const std::uint64_t count = input_counts_[static_cast<std::size_t>(options_.rank)];
  const Entry* single = only();
  std::byte* result = place_->gathered(0);
  if (reduces_all_) {
    result = place_->fused(0);
    if (by_gathering_) combine_gathered(result, piece.count);
    for (int rank = 0; rank < options_.rank; ++rank) result += input_counts_[static_cast<std::size_t>(rank)] * element;
  } else if (single != nullptr) {
    return scale_result(single->operation.output, count);
  }
  scale_result(result, count);
  show("MEMCPY_OUT_FUSION_BUFFER");
  for (std::size_t tensor = piece.begin; tensor < piece.end; ++tensor) {
    const std::size_t bytes = block_of(job_->response, tensor, options_.rank, options_.size) * element;
    place_->copy(entries()[tensor]->operation.output, result, bytes);
    result += bytes;
  }
}

}  // namespace tutti::horovod
