#pragma once

#include <cstddef>
#include <span>

#include "buffers/device_block.hpp"
#include "buffers/device_place.hpp"
#include "engine/entry.hpp"

namespace tutti::horovod {

/// Images in host memory of tensors in device memory, for an operation that is carried out on the host.
class HostImages {
 public:
  HostImages() noexcept = default;

  /// Copies the inputs of the tensors in device memory to the host, in one batch, and points the tensors to the images.
  /// `place` is null if none of them is in device memory; it outlives the images.
  HostImages(DevicePlace* place, std::span<const EntryPointer> entries);
  /// Copies the results to the device, in one batch, and points the tensors back to it.
  void give_back(std::span<const EntryPointer> entries);

 private:
  DevicePlace* place_ = nullptr;
  DeviceBlock memory_;
};

}  // namespace tutti::horovod
