// Named tensors in device memory through the C interface. A rank of a job of two: `horovod_c_ranks`, with the device
// module and the stand-ins of TUTTI_TEST_DEVICE. Exit code 0 if all results are right.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "support/devices/device_environment.hpp"
#include "support/devices/device_support.hpp"
#include "tutti/horovod.h"

namespace tutti::test {
namespace {

int failures = 0;

void check(bool is_right, const std::string& text) {
  if (is_right) return;
  ++failures;
  std::fprintf(stderr, "rank %d: %s (%s)\n", tutti_horovod_rank(), text.c_str(), tutti_last_error());
}

/// Floats in memory of this rank's device.
class Floats {
 public:
  Floats(const Stream& stream, const std::vector<float>& values)
      : count_(values.size()), array_(stream, MemoryKind::device, values.size() * sizeof(float)) {
    array_.write(values.data(), count_ * sizeof(float));
  }
  [[nodiscard]] void* data() const { return array_.data(); }
  [[nodiscard]] std::vector<float> read() const {
    std::vector<float> values(count_);
    array_.read(values.data(), count_ * sizeof(float));
    return values;
  }

 private:
  std::size_t count_;
  DeviceArray array_;
};

tutti_horovod_tensor tensor_of(tutti_horovod_operation operation, const char* name, const void* in, std::uint64_t count,
                               const Stream& stream) {
  tutti_horovod_tensor tensor = TUTTI_HOROVOD_TENSOR_INIT;
  tensor.operation = operation;
  tensor.name = name;
  tensor.in = in;
  tensor.in_count = count;
  tensor.op = TUTTI_HOROVOD_SUM;
  tensor.stream_module = TUTTI_TEST_DEVICE;
  tensor.stream = stream.native();
  return tensor;
}

/// Submits a tensor and waits for it.
tutti_horovod_handle_t finish(const tutti_horovod_tensor& tensor) {
  tutti_horovod_handle_t handle = nullptr;
  check(tutti_horovod_enqueue(&tensor, &handle) == TUTTI_OK, std::string("enqueue of ") + tensor.name);
  check(handle != nullptr && tutti_horovod_wait(handle) == TUTTI_OK, std::string("wait for ") + tensor.name);
  return handle;
}

void reduce_behind_work_of_the_stream(spi::DeviceRuntime& runtime, const Stream& stream) {
  const Floats data(stream, std::vector<float>(1000, -1.0F));
  const auto gate = runtime.hold(stream);
  const Buffer bytes(data.data(), 4000, DataType::uint8, {stream.device(), MemoryKind::device});
  (void)runtime.fill(stream, bytes, std::byte{0});
  tutti_horovod_tensor tensor = tensor_of(TUTTI_HOROVOD_ALLREDUCE, "held", data.data(), 1000, stream);
  tensor.out = data.data();
  tensor.out_count = 1000;
  tutti_horovod_handle_t handle = nullptr;
  check(tutti_horovod_enqueue(&tensor, &handle) == TUTTI_OK, "enqueue behind work of the stream");
  check(tutti_horovod_poll(handle) == 0, "the tensor is complete before the work that makes it");
  gate->open();
  check(tutti_horovod_wait(handle) == TUTTI_OK, "wait behind work of the stream");
  check(data.read() == std::vector<float>(1000, 0.0F), "the sum is not that of the stream's work");
  tutti_horovod_free(handle);
}

void process_a_group(const Stream& stream) {
  const Floats first(stream, std::vector<float>(10, 1.0F));
  const Floats second(stream, std::vector<float>(300, 2.0F));
  std::vector<tutti_horovod_tensor> group = {tensor_of(TUTTI_HOROVOD_ALLREDUCE, "g1", first.data(), 10, stream),
                                             tensor_of(TUTTI_HOROVOD_ALLREDUCE, "g2", second.data(), 300, stream)};
  for (tutti_horovod_tensor& tensor : group) {
    tensor.out = const_cast<void*>(tensor.in);
    tensor.out_count = tensor.in_count;
  }
  std::vector<tutti_horovod_handle_t> handles(2);
  group[1].stream = nullptr;
  check(tutti_horovod_enqueue_group(group.data(), 2, handles.data()) == TUTTI_INVALID_ARGUMENT, "a lost stream");
  check(std::string(tutti_last_error()).find("needs both its stream_module and its stream") != std::string::npos,
        "text for a lost stream");
  group[1].stream = stream.native();
  check(tutti_horovod_enqueue_group(group.data(), 2, handles.data()) == TUTTI_OK, "enqueue of a group");
  for (tutti_horovod_handle_t handle : handles) {
    check(tutti_horovod_wait(handle) == TUTTI_OK, "wait for a group");
    tutti_horovod_free(handle);
  }
  check(first.read() == std::vector<float>(10, 2.0F), "first tensor of the group");
  check(second.read() == std::vector<float>(300, 4.0F), "second tensor of the group");
}

void gather_into_memory_of_the_engine(spi::DeviceRuntime& runtime, const Stream& stream) {
  const auto rank = static_cast<float>(tutti_horovod_rank());
  const Floats data(stream, {rank, rank + 10});
  const tutti_horovod_handle_t handle = finish(tensor_of(TUTTI_HOROVOD_ALLGATHER, "all", data.data(), 2, stream));
  const void* output = nullptr;
  std::uint64_t bytes = 0;
  check(tutti_horovod_output(handle, &output, &bytes) == TUTTI_OK && bytes == 16, "output of an allgather");
  std::vector<float> values(4);
  const ConstBuffer from(output, bytes, DataType::uint8, {stream.device(), MemoryKind::device});
  runtime.copy(stream, Buffer(values.data(), bytes, DataType::uint8), from)->wait();
  check(values == std::vector<float>({0, 10, 1, 11}), "values of an allgather");
  tutti_horovod_free(handle);
}

int run() {
  if (const std::string reason = why_no_device(TUTTI_TEST_DEVICE); !reason.empty()) {
    std::printf("SKIPPED: %s\n", reason.c_str());
    return 0;
  }
  check(tutti_horovod_init() == TUTTI_OK, "init");
  const auto devices = rank_devices(TUTTI_TEST_DEVICE);
  const Device device = devices.at(static_cast<std::size_t>(tutti_horovod_rank()) % devices.size());
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  const auto own = runtime.make_stream(device);
  reduce_behind_work_of_the_stream(runtime, own->stream());
  process_a_group(own->stream());
  gather_into_memory_of_the_engine(runtime, own->stream());
  check(tutti_horovod_shutdown() == TUTTI_OK, "shutdown");
  if (failures == 0) std::printf("all results are right\n");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::test

int main() {
  try {
    return tutti::test::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
