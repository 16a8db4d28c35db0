// Data of served calls: between the buffers of the program and the operations of tutti.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "progress.hpp"
#include "served_call.hpp"

namespace tutti::adapters::mpi {
namespace {

constexpr CallOptions kAsync = {.async = true};

Buffer bytes_at(void* data, std::uint64_t bytes) { return {data, bytes, DataType::uint8}; }
ConstBuffer bytes_at(const void* data, std::uint64_t bytes) { return {data, bytes, DataType::uint8}; }

}  // namespace

/// The blocks of all ranks on one side of a call, as bytes: in the program's buffer where they lie there as they are,
/// else in memory of their own.
class ServedCall::Blocks {
 public:
  Blocks(const ServedCall& call, const Side& side, bool must_copy = false) : call_(call), side_(side) {
    const auto ranks = static_cast<std::size_t>(call.group_.size());
    counts_.resize(ranks);
    displacements_.resize(ranks);
    is_direct_ = side.layout.is_contiguous && !must_copy;
    std::uint64_t packed = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t first = first_element(static_cast<int>(rank));
      counts_[rank] = elements(static_cast<int>(rank)) * side.layout.bytes;
      is_direct_ = is_direct_ && (first >= 0 || counts_[rank] == 0);
      displacements_[rank] = packed;
      packed += counts_[rank];
    }
    end_ = packed;
    if (!is_direct_) {
      copy_ = make_scratch(packed);
      return;
    }
    if (side.displacements < 0) return;
    end_ = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      // An empty block may be anywhere.
      displacements_[rank] =
          counts_[rank] == 0 ? 0
                             : static_cast<std::uint64_t>(first_element(static_cast<int>(rank))) * side.layout.bytes;
      end_ = std::max(end_, displacements_[rank] + counts_[rank]);
    }
  }

  [[nodiscard]] Buffer buffer() const { return bytes_at(base(), end_); }
  [[nodiscard]] tutti::Blocks blocks() const { return {counts_, displacements_}; }
  [[nodiscard]] Buffer block(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return bytes_at(base() + displacements_[index], counts_[index]);
  }
  /// From the program's buffer, before the operation.
  void fetch(int rank) const {
    if (is_direct_) return;
    pack(place(rank), static_cast<std::int64_t>(elements(rank)), side_.layout, at(rank));
  }
  void fetch_all() const {
    for (int rank = 0; !is_direct_ && rank < call_.group_.size(); ++rank) fetch(rank);
  }
  /// To the program's buffer, after the operation.
  void deliver_all() const {
    for (int rank = 0; !is_direct_ && rank < call_.group_.size(); ++rank)
      unpack(at(rank), place(rank), static_cast<std::int64_t>(elements(rank)), side_.layout);
  }

 private:
  [[nodiscard]] std::uint64_t elements(int rank) const {
    return static_cast<std::uint64_t>(call_.count_of(side_, rank));
  }
  [[nodiscard]] std::int64_t first_element(int rank) const {
    if (side_.displacements >= 0) return call_.arguments_.count(side_.displacements, rank);
    return side_.is_array ? 0 : rank * call_.count_of(side_, 0);
  }
  [[nodiscard]] std::byte* base() const { return is_direct_ ? static_cast<std::byte*>(side_.data) : copy_.get(); }
  [[nodiscard]] std::byte* at(int rank) const { return base() + displacements_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::byte* place(int rank) const { return side_.layout.at(side_.data, first_element(rank)); }

  const ServedCall& call_;
  const Side& side_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> displacements_;
  std::uint64_t end_ = 0;
  bool is_direct_ = true;
  Scratch copy_;
};

void ServedCall::run_broadcast(const Communicator& communicator) const {
  const std::int64_t count = count_of(send_, 0);
  const std::uint64_t bytes = block_bytes(send_);
  if (send_.layout.is_contiguous) return complete(communicator.broadcast(bytes_at(send_.data, bytes), root_, kAsync));
  const Scratch copy = make_scratch(bytes);
  if (is_root()) pack(send_.data, count, send_.layout, copy.get());
  complete(communicator.broadcast(bytes_at(copy.get(), bytes), root_, kAsync));
  if (!is_root()) unpack(copy.get(), send_.data, count, send_.layout);
}

void ServedCall::run_reduction(const Communicator& communicator) const {
  const auto count = static_cast<std::uint64_t>(count_of(send_, 0));
  const ReduceOptions options{.op = reduction_, .async = true};
  void* const input = send_.is_in_place ? receive_.data : send_.data;
  if (kind_ == OpKind::allreduce)
    return complete(communicator.allreduce({input, count, number_}, {receive_.data, count, number_}, options));
  if (kind_ == OpKind::reduce)
    return complete(communicator.reduce({input, count, number_}, {receive_.data, count, number_}, root_, options));
  run_reduce_scatter(communicator);
}

void ServedCall::run_reduce_scatter(const Communicator& communicator) const {
  std::vector<std::uint64_t> counts;
  for (int rank = 0; rank < group_.size(); ++rank) counts.push_back(static_cast<std::uint64_t>(count_of(send_, rank)));
  const std::uint64_t count = counts[static_cast<std::size_t>(group_.rank())];
  const std::size_t bytes = count * send_.layout.bytes;
  // In place MPI puts the result at the beginning of the buffer, which holds the input of another rank.
  const Scratch result = send_.is_in_place ? make_scratch(bytes) : nullptr;
  const ConstBuffer input(send_.is_in_place ? receive_.data : send_.data, all_bytes(send_) / send_.layout.bytes,
                          number_);
  const Buffer output(send_.is_in_place ? result.get() : receive_.data, count, number_);
  const ReduceOptions options{.op = reduction_, .async = true};
  const bool is_even = std::ranges::all_of(counts, [&](std::uint64_t other) { return other == count; });
  complete(is_even ? communicator.reduce_scatter(input, output, options)
                   : communicator.reduce_scatterv(input, {.counts = counts}, output, options));
  if (send_.is_in_place && count > 0) std::memcpy(receive_.data, result.get(), bytes);
}

void ServedCall::run_gathering(const Communicator& communicator) const {
  std::optional<Blocks> all;
  if (receive_.is_used) all.emplace(*this, receive_);
  Scratch copy;
  ConstBuffer input;
  if (send_.is_in_place) {
    all->fetch(group_.rank());
    input = all->block(group_.rank());
  } else {
    input = bytes_at(static_cast<const void*>(send_.data), block_bytes(send_));
    if (!send_.layout.is_contiguous) {
      copy = make_scratch(input.count);
      pack(send_.data, count_of(send_, 0), send_.layout, copy.get());
      input.data = copy.get();
    }
  }
  const Buffer output = all ? all->buffer() : Buffer();
  const tutti::Blocks blocks = all ? all->blocks() : tutti::Blocks();
  if (kind_ == OpKind::allgather) complete(communicator.allgather(input, output, kAsync));
  if (kind_ == OpKind::allgatherv) complete(communicator.allgatherv(input, output, blocks, kAsync));
  if (kind_ == OpKind::gather) complete(communicator.gather(input, output, root_, kAsync));
  if (kind_ == OpKind::gatherv) complete(communicator.gatherv(input, output, blocks, root_, kAsync));
  if (all) all->deliver_all();
}

void ServedCall::run_scattering(const Communicator& communicator) const {
  std::optional<Blocks> all;
  if (send_.is_used) {
    all.emplace(*this, send_);
    all->fetch_all();
  }
  Scratch copy;
  Buffer output;
  if (receive_.is_in_place) {
    output = all->block(group_.rank());  // the block stays where it is
  } else {
    output = bytes_at(receive_.data, block_bytes(receive_));
    if (!receive_.layout.is_contiguous) {
      copy = make_scratch(output.count);
      output.data = copy.get();
    }
  }
  const ConstBuffer input = all ? ConstBuffer(all->buffer()) : ConstBuffer();
  const tutti::Blocks blocks = all ? all->blocks() : tutti::Blocks();
  if (kind_ == OpKind::scatter) complete(communicator.scatter(input, output, root_, kAsync));
  if (kind_ == OpKind::scatterv) complete(communicator.scatterv(input, blocks, output, root_, kAsync));
  if (copy != nullptr) unpack(copy.get(), receive_.data, count_of(receive_, 0), receive_.layout);
}

void ServedCall::run_exchange(const Communicator& communicator) const {
  const Blocks output(*this, receive_);
  // In place: the operation of tutti needs an input of its own.
  const Blocks input(*this, send_.is_in_place ? receive_ : send_, send_.is_in_place);
  input.fetch_all();
  if (kind_ == OpKind::alltoall) {
    complete(communicator.alltoall(input.buffer(), output.buffer(), kAsync));
  } else {
    complete(communicator.alltoallv(input.buffer(), input.blocks(), output.buffer(), output.blocks(), kAsync));
  }
  output.deliver_all();
}

}  // namespace tutti::adapters::mpi
