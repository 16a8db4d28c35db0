#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native_api.hpp"
#include "segment/channels.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::native {

/// What a rank tells the others about the buffers of a collective, so that they can reach into them. Lies in its
/// mailbox.
struct Offer {
  const std::byte* input;      ///< for ranks of the same process
  std::byte* output;           ///< null: it has none
  std::uint64_t input_offset;  ///< in the rank's shared file, see spi::shared_offset()
  std::uint64_t output_offset;
  std::uint64_t file_bytes;
  std::array<std::uint64_t, 2> token;
  std::int32_t descriptor;
};

/// How a rank gets at the buffers of others: as they are when all ranks are threads of one process, otherwise through
/// the files behind tutti::allocate(), each of which is mapped once, and again when it has grown.
///
/// All ranks see the same offers in the same order, so they always agree on which files are mapped by all: what
/// `agreed_` says is the same everywhere. Whether a mapping succeeds is not, therefore new files are agreed upon before
/// they are used (see Direct), and one failure ends the matter for the communicator.
class Reach {
 public:
  /// `wanted` false: never.
  Reach(const spi::Peers& peers, bool wanted);

  /// Whether this rank's buffers can be offered: an input of that length and an output, where it has them.
  [[nodiscard]] bool can_offer(const Operation& operation, std::uint64_t input_bytes,
                               std::uint64_t output_bytes) const noexcept;
  [[nodiscard]] Offer offer(const Operation& operation, std::uint64_t input_bytes,
                            std::uint64_t output_bytes) const noexcept;

  [[nodiscard]] bool is_agreed(int rank, const Offer& offer) const noexcept {
    return same_process_ || offer.file_bytes <= agreed_[static_cast<std::size_t>(rank)];
  }
  /// Tries to map the rank's file; false when that cannot be.
  [[nodiscard]] bool map(int rank, const Offer& offer) noexcept;
  /// All ranks have succeeded, or not.
  void agree(int rank, const Offer& offer) noexcept { agreed_[static_cast<std::size_t>(rank)] = offer.file_bytes; }
  void give_up() noexcept { given_up_ = true; }

  /// Where the buffers of a rank are for this process.
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
