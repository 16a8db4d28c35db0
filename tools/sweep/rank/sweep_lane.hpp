#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweep/plan/sweep_cell.hpp"
#include "sweep/rank/sweep_buffers.hpp"
#include "tutti/communicator.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::tools {

/// A communicator of a rank of the sweep with the buffers of its operations.
class SweepLane {
 public:
  /// Buffers for the largest of the cells, on `device`.
  SweepLane(Communicator comm, Device device, std::span<const SweepCell> cells, DataType type);

  [[nodiscard]] const Communicator& comm() const noexcept { return comm_; }
  [[nodiscard]] bool has_device() const noexcept { return stream_ != nullptr; }

  /// Fills the input for a cell, and the rest of the memory with a pattern that no result has.
  void fill(const CellShape& shape, std::uint32_t seed);
  /// Sets all memory of an in-place cell to zero, which repeated calls do not change.
  void zero(const CellShape& shape);
  /// Carries out the operation.
  [[nodiscard]] Work call(const CellShape& shape) const;

  /// Compares the whole result with the one expected after fill(); empty when it is right.
  [[nodiscard]] std::string check(const CellShape& shape) const;
  /// Destroys some elements of the result, and compares them: whether later calls wrote them again.
  void clear_probes(const CellShape& shape) const;
  [[nodiscard]] std::string check_probes(const CellShape& shape) const;
  /// Makes the first element of the result wrong, as a fault does.
  void spoil(const CellShape& shape) const;

 private:
  [[nodiscard]] Stream stream() const noexcept { return stream_ != nullptr ? stream_->stream() : Stream(); }
  /// The buffer that holds the input: in place that of the output.
  [[nodiscard]] SweepBuffer& input(const CellShape& shape) const noexcept {
    return shape.in_place ? *output_ : *input_;
  }
  /// Bytes of the buffer of the output.
  [[nodiscard]] static std::size_t output_bytes(const CellShape& shape) noexcept;
  [[nodiscard]] std::size_t output_begin(const CellShape& shape) const noexcept;

  Communicator comm_;
  std::unique_ptr<spi::DeviceStream> stream_;  ///< null: on the host
  std::unique_ptr<SweepBuffer> input_;
  std::unique_ptr<SweepBuffer> output_;
  std::vector<std::uint64_t> counts_;
  std::uint32_t seed_ = 0;
};

}  // namespace tutti::tools
