#include "algorithms/reach.hpp"

#include <algorithm>
#include <exception>

#include "tutti/spi/shared_memory.hpp"

namespace tutti::native {

Reach::Reach(const spi::Peers& peers, bool wanted)
    : rank_(peers.rank),
      same_process_(peers.same_process),
      given_up_(!wanted),
      pids_(peers.pids),
      agreed_(static_cast<std::size_t>(peers.size)),
      mappings_(static_cast<std::size_t>(peers.size)) {}

bool Reach::can_offer(const Operation& operation, std::uint64_t input_bytes,
                      std::uint64_t output_bytes) const noexcept {
  if (given_up_ || same_process_) return !given_up_;
  const auto is_shared = [](const void* data, std::uint64_t bytes) {
    return bytes == 0 || spi::shared_offset(data, bytes) != spi::kNotShared;
  };
  return is_shared(operation.input, input_bytes) && is_shared(operation.output, output_bytes);
}

Offer Reach::offer(const Operation& operation, std::uint64_t input_bytes, std::uint64_t output_bytes) const noexcept {
  Offer result = {};
  result.input = static_cast<const std::byte*>(operation.input);
  result.output = output_bytes == 0 ? nullptr : static_cast<std::byte*>(operation.output);
  if (same_process_) return result;
  const spi::SharedFile file = spi::shared_file();
  result.input_offset = input_bytes == 0 ? 0 : spi::shared_offset(operation.input, input_bytes);
  result.output_offset = output_bytes == 0 ? 0 : spi::shared_offset(operation.output, output_bytes);
  result.file_bytes = file.bytes;
  result.token = file.token;
  result.descriptor = file.descriptor;
  return result;
}

bool Reach::map(int rank, const Offer& offer) noexcept {
  if (rank == rank_) return true;
  api::Mapping& mapping = mappings_[static_cast<std::size_t>(rank)];
  try {
    const api::FileDescriptor file = api::open_memfd(pids_[static_cast<std::size_t>(rank)], offer.descriptor);
    if (api::checked_file_size(file) < offer.file_bytes) return false;
    mapping = api::Mapping(file, offer.file_bytes);
    return std::equal(offer.token.begin(), offer.token.end(), static_cast<const std::uint64_t*>(mapping.data()));
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace tutti::native
