#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/types/data_type.hpp"
#include "tutti/types/operation.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::horovod {

/// Kind of a request, with upstream's numbers up to `reducescatter`.
enum class MessageKind : std::uint8_t {
  allreduce,
  allgather,
  broadcast,
  join,
  adasum,
  alltoall,
  barrier,
  reducescatter,
  call,  ///< another collective of tutti's interface, carried out as it is
  error,
};

/// "ALLREDUCE", "CALL", ...: as in upstream's messages.
[[nodiscard]] std::string_view name(MessageKind kind) noexcept;

/// A rank's wish to process a tensor.
struct Request {
  MessageKind kind = MessageKind::allreduce;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  OpKind op = OpKind::allreduce;  ///< of a `call`
  bool cacheable = true;
  std::int32_t root = 0;
  std::uint32_t group_size = 0;  ///< number of tensors of the group; 0: none
  std::int32_t priority = 0;     ///< a higher one goes first
  double prescale = 1.0;
  double postscale = 1.0;
  std::string name;
  std::string group;                 ///< name of the group, the same on all ranks
  std::string memory;                ///< device module whose memory the inner backend works on; empty: host memory
  std::vector<std::int64_t> shape;   ///< of the input
  std::vector<std::int64_t> splits;  ///< alltoall: rows for each rank

  [[nodiscard]] std::uint64_t elements() const noexcept;
  /// Elements of a row: of all dimensions but the first.
  [[nodiscard]] std::uint64_t row_elements() const noexcept;
};

/// The decision, equal on all ranks, to process one tensor or several together.
struct Response {
  MessageKind kind = MessageKind::allreduce;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  OpKind op = OpKind::allreduce;
  bool cacheable = true;
  std::int32_t root = 0;
  std::uint32_t group_size = 0;
  std::int32_t priority = 0;        ///< of a fused one: that of the first tensor
  std::int32_t asked_priority = 0;  ///< that of the requests
  double prescale = 1.0;
  double postscale = 1.0;
  std::string group;
  std::string memory;       ///< see Request::memory
  bool has_joined = false;  ///< a rank has joined, and contributes zeros
  std::vector<std::string> names;
  std::vector<std::uint64_t> counts;      ///< elements of each tensor, where all ranks have the same number
  std::vector<std::int64_t> shape;        ///< of a single tensor; allgather: dimension 0 is that of rank 0
  std::vector<std::uint64_t> row_counts;  ///< elements of a row of each tensor
  std::vector<std::int64_t> sizes;  ///< rows; allgather: by tensor and rank; reducescatter: by tensor; alltoall: by
                                    ///< sender and receiver
  std::string error;                ///< of kind `error`
  std::int32_t last_joined = -1;    ///< of kind `join`
  std::int64_t position = -1;       ///< in the response cache, if it comes from there

  /// Elements of a tensor; of an allgather, those of its output.
  [[nodiscard]] std::uint64_t elements(std::size_t tensor) const noexcept;
  /// Bytes of all tensors, as the fusion counts them.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
};

/// Values that rank 0 decides for all ranks.
struct Parameters {
  std::uint64_t fusion_threshold = 0;
  std::uint64_t partition = 0;  ///< bytes that are processed before the ranks look for urgent tensors; 0: all
  std::uint64_t cycle_ns = 0;
  bool cache = true;
  bool is_tuning = false;   ///< autotune goes on
  double best_score = 0;    ///< of autotune, in bytes per microsecond; 0: none
  std::uint32_t inner = 0;  ///< the inner backend of allreduces, see InnerSwitch

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

/// A rank's part of a round of negotiation.
struct RoundMessage {
  bool shutdown = false;
  bool has_parameters = false;
  Parameters parameters = {};
  std::vector<std::uint64_t> hits;       ///< bits: positions in the response cache of the tensors that this rank has
  std::vector<std::uint32_t> invalid;    ///< positions that no longer fit this rank's tensor
  std::vector<const Request*> requests;  ///< to be sent
  std::vector<Request> received;         ///< parse() puts them here
};

/// Appends the wire form to `bytes`.
void serialize(const RoundMessage& message, std::vector<std::byte>& bytes);
/// Throws Error{backend_failure} if the bytes are no message.
[[nodiscard]] RoundMessage parse(std::span<const std::byte> bytes);

/// "[2, 3]"
[[nodiscard]] std::string describe_shape(std::span<const std::int64_t> shape);

}  // namespace tutti::horovod
