#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "buffers/device_block.hpp"
#include "negotiation/message.hpp"
#include "tutti/error.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::horovod {

/// A tensor that this rank has submitted. The rank that submitted it and the engine share it; the engine writes the
/// results before it marks the entry as done.
struct Entry {
  Request request;
  /// Buffers of the tensor; of a `call`, the whole operation.
  Operation operation;
  bool allocates = false;  ///< the output has a size that only the negotiation tells, and goes to `output`
  std::function<void(const Error*)> callback;  ///< called once by the thread that completes the tensor; null: success

  std::uint64_t output_capacity = 0;  ///< elements of the caller's output, unless it `allocates`
  std::uint64_t result_count = 0;     ///< elements of the result
  std::vector<std::byte> output;
  std::vector<std::int64_t> received;  ///< alltoall: rows from each rank; allgather: rows of each rank
  int last_joined = -1;
  // Of a tensor in device memory:
  std::unique_ptr<spi::DeviceEvent> ready;  ///< end of the application's work on it; null: it has ended
  void* device_output = nullptr;            ///< while `operation` refers to an image in host memory
  DeviceBlock allocated;                    ///< the output, if it `allocates`
  bool is_taken = false;                    ///< the driver carries it out, or has done so
  std::uint64_t stage_ns = 0;               ///< begin of its stage, see TensorStages; 0: nobody watched

  // Guarded by the mutex of the engine.
  bool is_done = false;
  std::optional<Error> error;
};

using EntryPointer = std::shared_ptr<Entry>;

}  // namespace tutti::horovod
