#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native_api.hpp"
#include "segment/channels.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Description of a rank's buffers in a collective, by which other ranks reach them. Lies in the rank's mailbox.
struct Offer {
  const std::byte* input;      ///< for ranks of the same process
  std::byte* output;           ///< null if the rank has none
  std::uint64_t input_offset;  ///< in the rank's shared file, see spi::shared_offset()
  std::uint64_t output_offset;
  std::uint64_t file_bytes;
  std::array<std::uint64_t, 2> token;
  std::int32_t descriptor;
};

/// Access to the buffers of other ranks: by pointer when all ranks are threads of one process, otherwise through the
/// files behind tutti::allocate(). Each file is mapped once, and again when it has grown.
///
/// All ranks see the same offers in the same order, so `agreed_`, the files that all ranks have mapped, is the same on
/// all ranks. But a mapping may fail on one rank only. Therefore the ranks agree on new files before they use them (see
/// Direct), and after one failure the communicator never tries again.
class Reach {
 public:
  /// If `wanted` is false, can_offer() is always false.
  Reach(const spi::Peers& peers, bool wanted);

  /// Whether other ranks can reach this rank's input and output of these lengths; 0 bytes: it has no such buffer.
  [[nodiscard]] bool can_offer(const Operation& operation, std::uint64_t input_bytes,
                               std::uint64_t output_bytes) const noexcept;
  [[nodiscard]] Offer offer(const Operation& operation, std::uint64_t input_bytes,
                            std::uint64_t output_bytes) const noexcept;

  [[nodiscard]] bool is_agreed(int rank, const Offer& offer) const noexcept {
    return same_process_ || offer.file_bytes <= agreed_[static_cast<std::size_t>(rank)];
  }
  /// Maps the rank's file; false when that fails.
  [[nodiscard]] bool map(int rank, const Offer& offer) noexcept;
  /// To be called when all ranks have mapped the rank's file, or give_up() when one could not.
  void agree(int rank, const Offer& offer) noexcept { agreed_[static_cast<std::size_t>(rank)] = offer.file_bytes; }
  void give_up() noexcept { given_up_ = true; }

  /// Addresses of a rank's buffers in this process.
  [[nodiscard]] const std::byte* input(int rank, const Offer& offer) const noexcept {
    return same_process_ || rank == rank_ ? offer.input : base(rank) + offer.input_offset;
  }
  [[nodiscard]] std::byte* output(int rank, const Offer& offer) const noexcept {
    return same_process_ || rank == rank_ || offer.output == nullptr ? offer.output : base(rank) + offer.output_offset;
  }
  [[nodiscard]] bool same_process() const noexcept { return same_process_; }

 private:
  [[nodiscard]] std::byte* base(int rank) const noexcept {
    return static_cast<std::byte*>(mappings_[static_cast<std::size_t>(rank)].data());
  }

  int rank_;
  bool same_process_;
  bool given_up_;
  std::vector<std::int64_t> pids_;
  std::vector<std::uint64_t> agreed_;  // bytes of each rank's file that all ranks have mapped
  std::vector<api::Mapping> mappings_;
};

}  // namespace tutti::native
