#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/report.hpp"
#include "support/data/guarded_memory.hpp"
#include "support/data/pattern.hpp"
#include "support/devices/device_support.hpp"
#include "tutti/communicator.hpp"

namespace tutti::test {

/// An operation with all parameters that determine its result; equal on all ranks.
struct Case {
  OpKind kind = OpKind::allreduce;
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  std::uint64_t count = 0;  ///< of one block; for a vector form the longest block
  bool in_place = false;
  int root = 0;
  double prescale = 1.0;
  bool real = false;       ///< real values, whose results are compared with a tolerance
  bool gaps = false;       ///< vector forms: gaps between the blocks, which must stay unchanged
  std::size_t offset = 0;  ///< offset of the buffers from a cache line, in bytes
  std::uint64_t seed = 0;
};

/// "allreduce(sum) float32 count=17 in-place root=0 seed=5".
[[nodiscard]] std::string describe(const Case& c);

/// Whether the operation has an in-place form.
[[nodiscard]] constexpr bool has_in_place(OpKind kind) noexcept {
  return kind != OpKind::alltoall && kind != OpKind::alltoallv && !is_message(kind) && kind != OpKind::barrier;
}

/// Device memory for a rank's buffers.
struct Placement {
  Stream stream;  ///< stream that allocates the memory
  MemoryKind kind = MemoryKind::device;
  bool is_ordered = true;  ///< the operation gets the stream; otherwise it blocks the host
};

/// A case with the buffers of one rank: start it, complete it, then check. `send` and `recv` cases are exchanges on a
/// ring, to be started inside a group.
class PreparedCase {
 public:
  PreparedCase(const Communicator& comm, const Case& c, const Placement* placement = nullptr);

  /// Calls the operation.
  [[nodiscard]] Work start(const Communicator& comm, bool async);
  /// Compares the outputs with the serial reference; inputs, gaps, guard zones and the outputs of ranks that get no
  /// result must be unchanged.
  void check(Report& report);

 private:
  // One buffer of one rank: its length and, if it has a block per rank, its blocks.
  struct Side {
    std::uint64_t extent = 0;
    std::vector<std::uint64_t> counts;
    std::vector<std::uint64_t> displacements;
    [[nodiscard]] Blocks blocks(bool with_displacements) const;
  };
  // A part of the output and its expected content: a copy of the input of rank `source`, or the reduction of all inputs
  // if `source` is negative.
  struct Piece {
    std::uint64_t at;
    std::uint64_t length;
    int source;
    std::uint64_t source_first;
  };

  [[nodiscard]] std::uint64_t block_length(int from, int to) const noexcept;
  [[nodiscard]] Side make_side(Extent extent, bool output, int rank) const;
  [[nodiscard]] std::vector<Piece> pieces() const;
  void place_buffers();
  void place_on_device();
  [[nodiscard]] Buffer placed(const Buffer& buffer);
  void fetch_from_device();
  void check_inputs(Report& report);
  void check_outputs(Report& report);
  void check_rest(const std::vector<Piece>& pieces, Report& report);
  void fail(Report& report, const std::string& what) const;

  Case case_;
  int rank_;
  int size_;
  std::string backend_;
  Pattern pattern_;
  bool has_input_;
  bool has_output_;
  bool shared_ = false;  // in-place on this rank: both buffers are in the larger memory
  Side input_;
  Side output_;
  std::optional<GuardedMemory> input_memory_;
  std::optional<GuardedMemory> output_memory_;
  Buffer in_;
  Buffer out_;
  const Placement* placement_;
  std::optional<DeviceArray> input_array_;  // the images of the memories on the device
  std::optional<DeviceArray> output_array_;
};

/// Prepares, runs to the end and checks one case. Throws the operation's Error.
void run_case(const Communicator& comm, const Case& c, Report& report, const Placement* placement = nullptr);

}  // namespace tutti::test
