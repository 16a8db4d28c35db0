#include "conformance/cases/case.hpp"

#include <algorithm>

#include "support/data/reference.hpp"

namespace tutti::test {
namespace {

/// Whether there may be gaps between the blocks.
bool has_displacements(OpKind kind) { return is_vector(kind) && !traits(kind).reduces; }

}  // namespace

std::string describe(const Case& c) {
  std::string text(name(c.kind));
  if (traits(c.kind).reduces) text += "(" + std::string(name(c.reduction)) + ")";
  text += " " + std::string(name(c.type)) + " count=" + std::to_string(c.count);
  if (traits(c.kind).rooted) text += " root=" + std::to_string(c.root);
  if (c.in_place) text += " in-place";
  if (c.prescale != 1.0) text += " prescale=" + std::to_string(c.prescale);
  if (c.real) text += " real";
  if (c.gaps) text += " gaps";
  if (c.offset != 0) text += " offset=" + std::to_string(c.offset);
  return text + " seed=" + std::to_string(c.seed);
}

Blocks PreparedCase::Side::blocks(bool with_displacements) const {
  if (with_displacements) return {.counts = counts, .displacements = displacements};
  return {.counts = counts};
}

PreparedCase::PreparedCase(const Communicator& comm, const Case& c, const Placement* placement)
    : case_(c), rank_(comm.rank()), size_(comm.size()), backend_(comm.backend()), placement_(placement) {
  const OpTraits& row = traits(c.kind);
  const bool is_root = rank_ == c.root;
  pattern_ = {
      .seed = c.seed, .type = c.type, .values = row.reduces ? values_for(c.reduction, c.type, c.real) : Values::bits};
  has_input_ = row.input != Extent::none && (!row.input_root_only || is_root);
  has_output_ = row.output != Extent::none && (!row.output_root_only || is_root);
  input_ = make_side(row.input, false, rank_);
  output_ = make_side(row.output, true, rank_);
  shared_ = c.in_place && has_input_ && has_output_;
  place_buffers();
  if (placement_ != nullptr) place_on_device();
}

void PreparedCase::place_on_device() {
  const auto place = [this](std::optional<GuardedMemory>& memory, std::optional<DeviceArray>& array) {
    if (!memory) return;
    const auto image = memory->image();
    array.emplace(placement_->stream, placement_->kind, image.size());
    array->write(image.data(), image.size());
  };
  place(input_memory_, input_array_);
  place(output_memory_, output_array_);
}

/// The buffer on the device. With a stream, the buffer does not name its memory, so that the library must locate it.
Buffer PreparedCase::placed(const Buffer& buffer) {
  if (placement_ == nullptr || buffer.data == nullptr) return buffer;
  const auto translate = [&](std::optional<GuardedMemory>& memory, const std::optional<DeviceArray>& array) {
    if (!memory) return Buffer();
    const auto image = memory->image();
    const std::ptrdiff_t offset = static_cast<std::byte*>(buffer.data) - image.data();
    if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(image.size())) return Buffer();
    const Memory where = placement_->is_ordered ? Memory() : array->where();
    return Buffer(static_cast<std::byte*>(array->data()) + offset, buffer.count, buffer.type, where);
  };
  const Buffer in_input = translate(input_memory_, input_array_);
  return in_input.data != nullptr ? in_input : translate(output_memory_, output_array_);
}

void PreparedCase::fetch_from_device() {
  if (input_array_) input_array_->read(input_memory_->image().data(), input_memory_->image().size());
  if (output_array_) output_array_->read(output_memory_->image().data(), output_memory_->image().size());
}

// Some blocks of a vector form are empty, the others have different lengths.
std::uint64_t PreparedCase::block_length(int from, int to) const noexcept {
  if (!is_vector(case_.kind)) return case_.count;
  const bool pairwise = case_.kind == OpKind::alltoallv;
  const std::uint64_t word = mix(case_.seed, from + 1, pairwise ? to + 1 : 0);
  return word % 4 == 0 ? 0 : (word >> 8) % (case_.count + 1);
}

PreparedCase::Side PreparedCase::make_side(Extent extent, bool output, int rank) const {
  Side side;
  if (extent == Extent::none) return side;
  if (extent == Extent::block) {
    // scatterv sends block `rank` to each rank; the gather forms send each rank's own block.
    side.extent = block_length(rank, rank);
    return side;
  }
  side.counts.resize(static_cast<std::size_t>(size_));
  side.displacements.resize(side.counts.size());
  const bool gaps = case_.gaps && extent == Extent::vector && has_displacements(case_.kind);
  // With gaps, the blocks are also in reverse order, because displacements need not be ascending.
  for (int i = 0; i < size_; ++i) {
    const int other = gaps ? size_ - 1 - i : i;
    const auto slot = static_cast<std::size_t>(other);
    side.counts[slot] = case_.kind == OpKind::alltoallv
                            ? (output ? block_length(other, rank) : block_length(rank, other))
                            : block_length(other, other);
    if (gaps) side.extent += mix(case_.seed, rank, other) % 4;
    side.displacements[slot] = side.extent;
    side.extent += side.counts[slot];
  }
  if (gaps) side.extent += 2;
  return side;
}

void PreparedCase::place_buffers() {
  const auto own = static_cast<std::size_t>(rank_);
  const bool input_larger = output_.counts.empty() && !input_.counts.empty();
  if (shared_ && input_larger) {
    input_memory_.emplace(input_.extent, case_.type, case_.offset);
    in_ = input_memory_->all();
    out_ = input_memory_->part(input_.displacements[own], output_.extent);
  } else if (shared_) {
    output_memory_.emplace(output_.extent, case_.type, case_.offset);
    out_ = output_memory_->all();
    in_ = output_.counts.empty() ? out_ : output_memory_->part(output_.displacements[own], input_.extent);
  } else {
    input_memory_.emplace(has_input_ ? input_.extent : 0, case_.type, case_.offset);
    output_memory_.emplace(output_.extent, case_.type, case_.offset);
    in_ = input_memory_->all();
    out_ = output_memory_->all();
    // A buffer that the operation ignores on this rank may be anything; in half of the cases it is empty.
    if (!has_output_ && case_.seed % 2 == 0) out_ = {};
    if (!has_input_ && case_.seed % 2 == 0) in_ = {};
  }
  if (has_input_) fill(pattern_, rank_, 0, in_);
}

Work PreparedCase::start(const Communicator& comm, bool async) {
  const Stream stream = placement_ != nullptr && placement_->is_ordered ? placement_->stream : Stream();
  const ReduceOptions reduce{.op = case_.reduction, .prescale = case_.prescale, .stream = stream, .async = async};
  const CallOptions plain{.stream = stream, .async = async};
  const Buffer in = placed(in_);
  const Buffer out = placed(out_);
  const bool is_root = rank_ == case_.root;
  const bool spread = case_.gaps;
  switch (case_.kind) {
    case OpKind::allreduce:
      return shared_ ? comm.allreduce(out, reduce) : comm.allreduce(in, out, reduce);
    case OpKind::allgather:
      return comm.allgather(in, out, plain);
    case OpKind::allgatherv:
      return comm.allgatherv(in, out, output_.blocks(spread), plain);
    case OpKind::reduce_scatter:
      return comm.reduce_scatter(in, out, reduce);
    case OpKind::reduce_scatterv:
      return comm.reduce_scatterv(in, input_.blocks(false), out, reduce);
    case OpKind::broadcast:
      return case_.in_place ? comm.broadcast(out, case_.root, plain) : comm.broadcast(in, out, case_.root, plain);
    case OpKind::reduce:
      return comm.reduce(in, out, case_.root, reduce);
    case OpKind::gather:
      return comm.gather(in, out, case_.root, plain);
    case OpKind::gatherv:
      return comm.gatherv(in, out, is_root ? output_.blocks(spread) : Blocks{}, case_.root, plain);
    case OpKind::scatter:
      return comm.scatter(in, out, case_.root, plain);
    case OpKind::scatterv:
      return comm.scatterv(in, is_root ? input_.blocks(spread) : Blocks{}, out, case_.root, plain);
    case OpKind::alltoall:
      return comm.alltoall(in, out, plain);
    case OpKind::alltoallv:
      return comm.alltoallv(in, input_.blocks(spread), out, output_.blocks(spread), plain);
    case OpKind::send:
      return comm.send(in, (rank_ + 1) % size_, plain);
    case OpKind::recv:
      return comm.recv(out, (rank_ + size_ - 1) % size_, plain);
    case OpKind::barrier:
      break;
  }
  return comm.barrier(plain);
}

std::vector<PreparedCase::Piece> PreparedCase::pieces() const {
  const std::uint64_t own = output_.extent;
  const auto block = static_cast<std::size_t>(rank_);
  switch (case_.kind) {
    case OpKind::allreduce:
    case OpKind::reduce:
      return {{0, own, -1, 0}};
    case OpKind::reduce_scatter:
      return {{0, own, -1, case_.count * block}};
    case OpKind::reduce_scatterv:
      return {{0, own, -1, input_.displacements[block]}};
    case OpKind::broadcast:
      return {{0, own, case_.root, 0}};
    case OpKind::recv:
      return {{0, own, (rank_ + size_ - 1) % size_, 0}};
    case OpKind::scatter:
    case OpKind::scatterv: {
      const Side source = make_side(traits(case_.kind).input, false, case_.root);
      return {{0, own, case_.root, source.displacements[block]}};
    }
    default:
      break;
  }
  std::vector<Piece> all;
  const bool exchanged = case_.kind == OpKind::alltoall || case_.kind == OpKind::alltoallv;
  for (int i = 0; i < size_ && !output_.counts.empty(); ++i) {
    const auto slot = static_cast<std::size_t>(i);
    const std::uint64_t first =
        exchanged ? make_side(traits(case_.kind).input, false, i).displacements[block] : std::uint64_t{0};
    all.push_back({output_.displacements[slot], output_.counts[slot], i, first});
  }
  return all;
}

void PreparedCase::fail(Report& report, const std::string& what) const {
  report.fail(describe(case_) + " on rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " (" + backend_ +
              "): " + what);
}

void PreparedCase::check_inputs(Report& report) {
  if (!has_input_ || shared_) return;
  if (const auto wrong = compare_copy(pattern_, rank_, 0, in_)) {
    fail(report, "wrong result: the input changed at index " + std::to_string(wrong->index) + " from " +
                     wrong->expected + " to " + wrong->got);
  }
}

void PreparedCase::check_outputs(Report& report) {
  const std::vector<Piece> all = pieces();
  for (const Piece& piece : all) {
    const Buffer got(static_cast<std::byte*>(out_.data) + piece.at * size_of(case_.type), piece.length, case_.type);
    const ReferenceReduction how{case_.reduction, case_.prescale, size_};
    const auto wrong = piece.source < 0 ? compare_reduced(pattern_, how, piece.source_first, got)
                                        : compare_copy(pattern_, piece.source, piece.source_first, got);
    report.count_check();
    if (wrong) {
      fail(report, "wrong result: output[" + std::to_string(piece.at + wrong->index) + "] is " + wrong->got +
                       ", expected " + wrong->expected);
      return;
    }
  }
  check_rest(all, report);
}

// Everything outside the pieces must be unchanged.
void PreparedCase::check_rest(const std::vector<Piece>& pieces, Report& report) {
  if (shared_ && !output_memory_) {  // the output is a block of the input
    const std::uint64_t begin = input_.displacements[static_cast<std::size_t>(rank_)];
    const std::uint64_t end = begin + output_.extent;
    if (compare_copy(pattern_, rank_, 0, input_memory_->part(0, begin)) ||
        compare_copy(pattern_, rank_, end, input_memory_->part(end, input_.extent - end))) {
      fail(report, "the input changed outside this rank's block");
    }
    return;
  }
  std::vector<Piece> sorted = pieces;
  std::sort(sorted.begin(), sorted.end(), [](const Piece& a, const Piece& b) { return a.at < b.at; });
  std::uint64_t at = 0;
  for (const Piece& piece : sorted) {
    if (piece.at > at && !output_memory_->untouched(at, piece.at - at)) {
      fail(report, "the gap before output[" + std::to_string(piece.at) + "] was written to");
    }
    at = std::max(at, piece.at + piece.length);
  }
  if (!output_memory_->untouched(at, output_.extent - at)) {
    fail(report, "the output was written to behind its last block");
  }
}

void PreparedCase::check(Report& report) {
  fetch_from_device();
  check_inputs(report);
  if (has_output_) {
    check_outputs(report);
  } else if (output_memory_ && !output_memory_->untouched(0, output_memory_->count())) {
    fail(report, "the operation wrote to the output of a rank that gets no result");
  }
  for (const auto* memory : {&input_memory_, &output_memory_}) {
    if (*memory && !(*memory)->guards_intact()) fail(report, "memory next to a buffer was written to");
  }
}

void run_case(const Communicator& comm, const Case& c, Report& report, const Placement* placement) {
  if (is_message(c.kind)) {
    // Each rank sends to the next and receives from the previous rank of the ring, which may be itself.
    Case to = c;
    Case from = c;
    to.kind = OpKind::send;
    from.kind = OpKind::recv;
    PreparedCase send(comm, to, placement);
    PreparedCase recv(comm, from, placement);
    comm.group([&] {
      (void)send.start(comm, false);
      (void)recv.start(comm, false);
    });
    send.check(report);
    recv.check(report);
    return;
  }
  PreparedCase prepared(comm, c, placement);
  prepared.start(comm, false).wait();
  prepared.check(report);
}

}  // namespace tutti::test
