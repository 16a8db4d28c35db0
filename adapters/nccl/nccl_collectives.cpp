// The operations of NCCL's interface.
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nccl_comm.hpp"
#include "nccl_error.hpp"
#include "nccl_group.hpp"
#include "nccl_types.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/half.hpp"

namespace tutti::nccl_adapter {
namespace {

/// CUDA's handle of the default stream, which a null pointer means, too.
void* const kDefaultStream = reinterpret_cast<void*>(1);  // NOLINT: cudaStreamLegacy of its header

bool has_cuda() {
  static const bool has = [] {
    try {
      (void)Device::parse("cuda:0");
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  return has;
}

/// Without CUDA, operations are on host memory and done when the call returns.
Stream stream_of(cudaStream_t stream) {
  if (has_cuda()) return adopt_stream("cuda", stream == nullptr ? kDefaultStream : static_cast<void*>(stream));
  if (stream != nullptr) {
    refuse_argument("a stream is given, but CUDA is not usable here; on host memory pass a null stream");
  }
  return {};
}

/// Carries out `call(communicator, options)` and keeps its work where the caller does not wait.
template <typename Options = CallOptions, typename Call>
ncclResult_t issue(ncclComm_t handle, cudaStream_t stream, const Call& call) noexcept {
  const ncclResult_t result = guarded([&] {
    ncclComm& comm = ncclComm::of(handle);
    const Communicator communicator = comm.use();
    Options options{};
    options.stream = stream_of(stream);
    Work work = call(comm, communicator, options);
    const bool has_stream = !options.stream.is_host();
    if (is_grouping())
      note_operation(comm, has_stream);
    else if (has_stream)
      comm.follow(std::move(work));
    else
      work.wait();
  });
  if (result != ncclSuccess) note_failure(result);
  return result;
}

/// The elements times a factor. On the host, because each rank has its own factor, while a prescale of tutti is that of
/// all ranks.
std::vector<std::byte> scaled(const void* data, std::uint64_t count, DataType type, double factor) {
  std::vector<std::byte> result(count * size_of(type));
  visit(type, [&](auto* typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    using Wide = std::conditional_t<std::is_same_v<Element, double>, double, float>;
    for (std::uint64_t i = 0; i < count; ++i) {
      Element value{};
      std::memcpy(&value, static_cast<const std::byte*>(data) + i * sizeof(value), sizeof(value));
      value = static_cast<Element>(static_cast<Wide>(value) * static_cast<Wide>(factor));
      std::memcpy(result.data() + i * sizeof(value), &value, sizeof(value));
    }
  });
  return result;
}

/// Carries out `call(communicator, input, options)`; `input_count(ranks)` is the number of elements of the input.
template <typename Count, typename Call>
ncclResult_t issue_reduction(ncclComm_t handle, cudaStream_t stream, const void* send, const Count& input_count,
                             ncclDataType_t type, ncclRedOp_t op, const Call& call) noexcept {
  return issue<ReduceOptions>(handle, stream,
                              [&](const ncclComm& comm, const Communicator& communicator, ReduceOptions& options) {
                                ConstBuffer input(send, input_count(communicator.size()), element_type(type));
                                if (static_cast<int>(op) < ncclNumOps) {
                                  options.op = reduction_of(op);
                                  return call(communicator, input, options);
                                }
                                const PreMulSum reduction = comm.find(op);
                                if (reduction.type != type)
                                  refuse_argument("the reduction was made for another datatype");
                                if (!options.stream.is_host()) {
                                  options.prescale = reduction.factor;
                                  return call(communicator, input, options);
                                }
                                if (send == nullptr && input.count > 0) refuse_argument("the input is a null pointer");
                                std::vector<std::byte> copy = scaled(send, input.count, input.type, reduction.factor);
                                input.data = copy.data();
                                Work work = call(communicator, input, options);
                                if (is_grouping()) keep_for_group(std::move(copy));
                                return work;
                              });
}

/// The first element at `data` as a number.
double number_at(const void* data, DataType type) {
  return visit(type, [&](auto* typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    Element value{};
    std::memcpy(&value, data, sizeof(value));
    if constexpr (std::is_arithmetic_v<Element>)
      return static_cast<double>(value);
    else
      return static_cast<double>(static_cast<float>(value));
  });
}

std::uint64_t times(std::size_t count, int ranks) {
  return static_cast<std::uint64_t>(count) * static_cast<unsigned>(ranks);
}

}  // namespace
}  // namespace tutti::nccl_adapter

using namespace tutti;
using namespace tutti::nccl_adapter;

extern "C" {

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return issue_reduction(
      comm, stream, send, [&](int) { return count; }, type, op,
      [&](const Communicator& group, const ConstBuffer& in, const ReduceOptions& options) {
        return group.allreduce(in, {recv, count, in.type}, options);
      });
}

ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return issue_reduction(
      comm, stream, send, [&](int) { return count; }, type, op,
      [&](const Communicator& group, const ConstBuffer& in, const ReduceOptions& options) {
        return group.reduce(in, {recv, count, in.type}, root, options);
      });
}

ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return issue_reduction(
      comm, stream, send, [&](int ranks) { return times(count, ranks); }, type, op,
      [&](const Communicator& group, const ConstBuffer& in, const ReduceOptions& options) {
        return group.reduce_scatter(in, {recv, count, in.type}, options);
      });
}

ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    const DataType element = element_type(type);
    return group.broadcast({send, count, element}, {recv, count, element}, root, options);
  });
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    const DataType element = element_type(type);
    return group.allgather({send, count, element}, {recv, times(count, group.size()), element}, options);
  });
}

ncclResult_t ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    const DataType element = element_type(type);
    const std::uint64_t all = times(count, group.size());
    return group.alltoall({send, all, element}, {recv, all, element}, options);
  });
}

ncclResult_t ncclGather(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    const DataType element = element_type(type);
    return group.gather({send, count, element}, {recv, times(count, group.size()), element}, root, options);
  });
}

ncclResult_t ncclScatter(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    const DataType element = element_type(type);
    return group.scatter({send, times(count, group.size()), element}, {recv, count, element}, root, options);
  });
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    return group.send({send, count, element_type(type)}, peer, options);
  });
}

ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return issue(comm, stream, [&](const ncclComm&, const Communicator& group, const CallOptions& options) {
    return group.recv({recv, count, element_type(type)}, peer, options);
  });
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return guarded([&] {
    if (op == nullptr || scalar == nullptr) refuse_argument("the operation or the scalar is a null pointer");
    const DataType element = element_type(type);
    if (!is_floating(element)) refuse_usage("ncclRedOpCreatePreMulSum() is there for floating-point types only");
    if (residence == ncclScalarDevice && has_cuda())
      refuse_usage("a scalar in device memory cannot be read; pass it with ncclScalarHostImmediate");
    *op = ncclComm::of(comm).add({number_at(scalar, element), type});
  });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return guarded([&] { ncclComm::of(comm).remove(op); });
}

}  // extern "C"
