#include "check/validation.hpp"

#include "call/group.hpp"
#include "device/device_memory.hpp"
#include "tutti/error.hpp"

namespace tutti {

namespace {

/// One check of one operation; knows how to say what is wrong.
class Validator {
 public:
  Validator(const detail::CommunicatorState& state, const Arguments& arguments, Operation& op) noexcept
      : state_(state), arguments_(arguments), op_(op), traits_(op.traits()) {}

  void run() {
    check_root();
    const bool at_root = !traits_.rooted || op_.root == state_.rank;
    uses_input_ = traits_.input != Extent::none && (at_root || !traits_.input_root_only);
    uses_output_ = traits_.output != Extent::none && (at_root || !traits_.output_root_only);
    check_types();
    check_reduction();
    check_counts();
    if (uses_input_) check_memory(arguments_.in.data, input_elements_, "input");
    if (uses_output_) check_memory(arguments_.out.data, output_elements_, "output");
    op_.input = uses_input_ ? arguments_.in.data : nullptr;
    op_.output = uses_output_ ? arguments_.out.data : nullptr;
    if (uses_input_ && uses_output_) check_overlap();
    if (!op_.stream.is_host() || op_.where.kind != MemoryKind::host) [[unlikely]]
      check_device_memory();
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, context(state_, as_given()) + ": " + what, state_.backend->name());
  }

  /// The operation with the count and type of the call, for errors that come before they are checked.
  [[nodiscard]] Operation as_given() const {
    Operation given = op_;
    if (given.count != 0) return given;
    const bool by_input = traits_.output == Extent::none || (traits_.input != Extent::none && arguments_.in.count != 0);
    given.count = by_input ? arguments_.in.count : arguments_.out.count;
    given.type = by_input ? arguments_.in.type : arguments_.out.type;
    return given;
  }

  void check_root() const {
    if (!traits_.rooted) return;
    const bool is_peer = is_message(op_.kind);
    if (static_cast<std::uint32_t>(op_.root) >= static_cast<std::uint32_t>(state_.size)) [[unlikely]] {
      fail(std::string(is_peer ? "peer " : "root ") + std::to_string(op_.root) + " is not a rank of this group (0 to " +
           std::to_string(state_.size - 1) + ")");
    }
    // Within a group the send and the recv are a copy.
    if (is_peer && op_.root == state_.rank && !is_grouping()) [[unlikely]] {
      fail("a message of a rank to itself needs a group: call send and recv in the same group()");
    }
  }

  void check_types() {
    const ConstBuffer& in = arguments_.in;
    const Buffer& out = arguments_.out;
    if (uses_input_ && uses_output_) {
      if (in.type != out.type) [[unlikely]] {
        fail("input is " + std::string(name(in.type)) + ", output is " + std::string(name(out.type)));
      }
      if (in.where.kind != out.where.kind || in.where.device != out.where.device) [[unlikely]]
        fail("input and output were given as different kinds of memory");
    }
    // The side that is not looked at still tells the type and size of the block, e.g. reduce on a rank that is not
    // root.
    op_.type = uses_input_ ? in.type : out.type;
    op_.where = uses_input_ ? in.where : out.where;
  }

  [[gnu::cold, gnu::noinline]] void check_device_memory() {
    if (const std::string problem = resolve_device_memory(op_, input_elements_, output_elements_); !problem.empty()) {
      fail(problem);
    }
  }

  void check_reduction() const {
    if (!traits_.reduces) return;
    if (!is_defined(op_.reduction, op_.type)) [[unlikely]] {
      fail("reduction " + std::string(name(op_.reduction)) + " is not defined for " + std::string(name(op_.type)) +
           "; bitwise and logical reductions are for integers");
    }
    if (op_.prescale != 1.0 && !is_floating(op_.type)) [[unlikely]] {
      fail("prescale is for floating types, not for " + std::string(name(op_.type)));
    }
  }

  void check_counts() {
    const std::uint64_t in = arguments_.in.count;
    const std::uint64_t out = arguments_.out.count;
    const auto ranks = static_cast<std::uint64_t>(state_.size);
    input_elements_ = in;
    output_elements_ = out;
    switch (traits_.input) {
      case Extent::none:
        op_.count = out;
        break;
      case Extent::block:
        op_.count = uses_input_ ? in : out;
        break;
      case Extent::blocks:
        op_.count = uses_input_ ? blocks_of(in, ranks, "input") : out;
        break;
      case Extent::vector:
        op_.count = traits_.output == Extent::vector ? 0 : out;
        break;
    }
    if (traits_.input == Extent::vector && uses_input_) {
      if (traits_.reduces && arguments_.in_blocks != nullptr && !arguments_.in_blocks->displacements.empty())
          [[unlikely]] {
        fail("input has displacements; the blocks of " + std::string(name(op_.kind)) +
             " are packed in rank order, leave the displacements out");
      }
      op_.input_layout = layout(arguments_.in_blocks, in, false);
      if (traits_.output == Extent::block) expect(out, op_.input_layout.counts[state_.rank], "output");
    }
    if (!uses_output_) return;
    switch (traits_.output) {
      case Extent::none:
        break;
      case Extent::block:
        expect(out, op_.count, "output");
        break;
      case Extent::blocks:
        if (out / ranks != op_.count || out % ranks != 0) [[unlikely]]
          expect(out, op_.count * ranks, "output");
        break;
      case Extent::vector:
        op_.output_layout = layout(arguments_.out_blocks, out, true);
        if (traits_.input == Extent::block) expect(in, op_.output_layout.counts[state_.rank], "input");
        break;
    }
  }

  std::uint64_t blocks_of(std::uint64_t count, std::uint64_t ranks, const char* which) const {
    if (count % ranks != 0) [[unlikely]] {
      fail(std::string(which) + " has " + std::to_string(count) + " elements, which is no multiple of the " +
           std::to_string(ranks) + " ranks");
    }
    return count / ranks;
  }

  void expect(std::uint64_t found, std::uint64_t expected, const char* which) const {
    if (found == expected) [[likely]]
      return;
    fail(std::string(which) + " has " + std::to_string(found) + " elements, expected " + std::to_string(expected));
  }

  BlockLayout layout(const Blocks* blocks, std::uint64_t elements, bool is_written) const {
    const char* const which = is_written ? "output" : "input";
    const auto ranks = static_cast<std::size_t>(state_.size);
    if (blocks == nullptr || blocks->counts.size() != ranks) [[unlikely]] {
      fail(std::string(which) + " needs one count per rank (" + std::to_string(ranks) + "), got " +
           std::to_string(blocks == nullptr ? 0 : blocks->counts.size()));
    }
    if (!blocks->displacements.empty() && blocks->displacements.size() != ranks) [[unlikely]] {
      fail(std::string(which) + " needs no displacements or one per rank (" + std::to_string(ranks) + "), got " +
           std::to_string(blocks->displacements.size()));
    }
    std::uint64_t packed = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t count = blocks->counts[rank];
      const std::uint64_t at = blocks->displacements.empty() ? packed : blocks->displacements[rank];
      if (count > elements || at > elements - count) [[unlikely]] {
        fail("block " + std::to_string(rank) + " of the " + which + " (" + std::to_string(count) + " elements at " +
             std::to_string(at) + ") is outside of its " + std::to_string(elements) + " elements");
      }
      packed += count;
    }
    if (!blocks->displacements.empty() && is_written) check_disjoint(*blocks, which);
    return {blocks->counts.data(), blocks->displacements.empty() ? nullptr : blocks->displacements.data()};
  }

  /// Blocks that are written must not share elements. Looks at each with the one before, which is enough for blocks
  /// that are in order, and at every pair otherwise.
  void check_disjoint(const Blocks& blocks, const char* which) const {
    const auto overlaps = [&](std::size_t a, std::size_t b) {
      return blocks.counts[a] != 0 && blocks.counts[b] != 0 &&
             blocks.displacements[a] < blocks.displacements[b] + blocks.counts[b] &&
             blocks.displacements[b] < blocks.displacements[a] + blocks.counts[a];
    };
    const auto ranks = static_cast<std::size_t>(state_.size);
    std::uint64_t end = 0;
    bool in_order = true;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (blocks.counts[rank] == 0) continue;
      in_order = in_order && blocks.displacements[rank] >= end;
      end = blocks.displacements[rank] + blocks.counts[rank];
    }
    for (std::size_t a = 0; !in_order && a < ranks; ++a) {
      for (std::size_t b = a + 1; b < ranks; ++b) {
        if (overlaps(a, b)) {
          fail("blocks " + std::to_string(a) + " and " + std::to_string(b) + " of the " + which + " overlap");
        }
      }
    }
  }

  void check_memory(const void* data, std::uint64_t elements, const char* which) const {
    if (elements == 0) return;
    if (data == nullptr) [[unlikely]] {
      fail(std::string(which) + " is null but has " + std::to_string(elements) + " elements");
    }
    if (elements > UINT64_MAX / size_of(op_.type) / 2) [[unlikely]] {
      fail(std::string(which) + " has " + std::to_string(elements) + " elements, more than there can be");
    }
  }

  /// Identical buffers mean in-place where the operation has that; anything else must be disjoint.
  void check_overlap() const {
    const auto* in = static_cast<const std::byte*>(op_.input);
    const auto* out = static_cast<const std::byte*>(op_.output);
    const std::uint64_t width = size_of(op_.type);
    if (in + input_elements_ * width <= out || out + output_elements_ * width <= in) [[likely]]
      return;
    if (input_elements_ == 0 || output_elements_ == 0) return;
    if (in == in_place_input(out, width)) return;
    fail("input and output overlap" + std::string(allows_in_place() ? " and are not the same block (in-place)" : ""));
  }

  [[nodiscard]] bool allows_in_place() const noexcept {
    return op_.kind != OpKind::alltoall && op_.kind != OpKind::alltoallv;
  }

  /// Address that the input of an in-place operation has; null when the operation cannot be in-place.
  [[nodiscard]] const std::byte* in_place_input(const std::byte* out, std::uint64_t width) const {
    if (!allows_in_place()) return nullptr;
    const auto rank = static_cast<std::uint64_t>(state_.rank);
    if (traits_.output == Extent::blocks) return out + rank * op_.count * width;
    if (traits_.output == Extent::vector) return out + offset_of(op_.output_layout, rank) * width;
    if (traits_.input == Extent::blocks) return out - rank * op_.count * width;
    if (traits_.input == Extent::vector) return out - offset_of(op_.input_layout, rank) * width;
    return out;
  }

  [[nodiscard]] static std::uint64_t offset_of(const BlockLayout& layout, std::uint64_t rank) noexcept {
    if (layout.displacements != nullptr) return layout.displacements[rank];
    std::uint64_t offset = 0;
    for (std::uint64_t before = 0; before < rank; ++before) offset += layout.counts[before];
    return offset;
  }

  const detail::CommunicatorState& state_;
  const Arguments& arguments_;
  Operation& op_;
  const OpTraits& traits_;
  bool uses_input_ = false;
  bool uses_output_ = false;
  std::uint64_t input_elements_ = 0;
  std::uint64_t output_elements_ = 0;
};

}  // namespace

std::string context(const detail::CommunicatorState& state, const Operation& operation) {
  return describe(operation) + " on rank " + std::to_string(state.rank) + " of " + std::to_string(state.size) +
         " (communicator " + state.name + ")";
}

void validate(const detail::CommunicatorState& state, const Arguments& arguments, Operation& operation) {
  Validator(state, arguments, operation).run();
}

}  // namespace tutti
