// Operations of process groups that reduce.
#include <utility>

#include "process_group.hpp"
#include "tensors.hpp"
#include "tutti/error.hpp"

namespace tutti::torch_adapter {
namespace {

/// Tensors of at most this size together are reduced as one: the copies cost less than further operations.
constexpr std::uint64_t kCoalescedBytes = 256 << 10;

/// One operation for all tensors instead of one for each. Decided alike on all ranks, whose tensors have equal sizes.
bool are_one_call(const std::vector<at::Tensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.scalar_type() != tensors.front().scalar_type()) return false;
    bytes += tensor.nbytes();
  }
  return bytes <= kCoalescedBytes;
}

ConstBuffer part(const Buffer& whole, std::uint64_t begin, std::uint64_t count) {
  return {static_cast<const std::byte*>(whole.data) + begin * size_of(whole.type), count, whole.type};
}

}  // namespace

ProcessGroup::WorkPointer ProcessGroup::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  (void)only_tensor(tensors, "the tensor of allreduce");
  const Reduction op = reduction_of(options.reduceOp, tensors.front());
  const at::Tensor flat = packed(tensors);
  const Buffer data = reduced(flat);
  return start({c10d::OpType::ALLREDUCE, "tutti:all_reduce"}, tensors, tensors, options.timeout,
               [group = collectives_, flat, data, op, tensors](std::chrono::nanoseconds timeout) {
                 group.allreduce(data, {.op = op, .timeout = timeout}).wait();
                 unpack(flat, tensors);
               });
}

ProcessGroup::WorkPointer ProcessGroup::allreduce_coalesced(Tensors& tensors,
                                                            const c10d::AllreduceCoalescedOptions& options) {
  std::vector<Tensors> calls;
  if (!tensors.empty() && are_one_call(tensors))
    calls.push_back(tensors);
  else
    for (const at::Tensor& tensor : tensors) calls.push_back({tensor});
  struct Prepared {
    Tensors tensors;
    at::Tensor flat;
    Buffer data;
    Reduction op;
  };
  std::vector<Prepared> prepared;
  for (const Tensors& call : calls) {
    check_tensors(call, "the tensor of allreduce_coalesced");
    at::Tensor flat = packed(call);
    prepared.push_back({call, flat, reduced(flat), reduction_of(options.reduceOp, flat)});
  }
  return start({c10d::OpType::ALLREDUCE_COALESCED, "tutti:all_reduce"}, tensors, tensors, options.timeout,
               [group = collectives_, prepared = std::move(prepared)](std::chrono::nanoseconds timeout) {
                 for (const Prepared& call : prepared) {
                   group.allreduce(call.data, {.op = call.op, .timeout = timeout}).wait();
                   unpack(call.flat, call.tensors);
                 }
               });
}

ProcessGroup::WorkPointer ProcessGroup::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  (void)only_tensor(tensors, "the tensor of reduce");
  const Reduction op = reduction_of(options.reduceOp, tensors.front());
  const at::Tensor flat = packed(tensors);
  const Buffer data = reduced(flat);
  const int root = static_cast<int>(options.rootRank);
  return start({c10d::OpType::REDUCE, "tutti:reduce"}, tensors, tensors, options.timeout,
               [group = collectives_, flat, data, op, root, tensors](std::chrono::nanoseconds timeout) {
                 group.reduce(data, data, root, {.op = op, .timeout = timeout}).wait();
                 if (group.rank() == root) unpack(flat, tensors);
               });
}

ProcessGroup::WorkPointer ProcessGroup::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                       const c10d::ReduceScatterOptions& options) {
  (void)only_tensor(outputs, "the output of reduce_scatter");
  if (inputs.size() != 1) throw Error(ErrorCode::unsupported, "reduce_scatter takes one list of inputs per process");
  check_list(inputs.front(), "the input of reduce_scatter");
  const Tensors& blocks = inputs.front();
  if (blocks[getRank()].numel() != outputs.front().numel()) {
    throw Error(ErrorCode::invalid_argument,
                "the output of reduce_scatter has " + std::to_string(outputs.front().numel()) + " elements and block " +
                    std::to_string(getRank()) + " of the input has " + std::to_string(blocks[getRank()].numel()));
  }
  const Reduction op = reduction_of(options.reduceOp, blocks.front());
  const at::Tensor in = packed(blocks);
  const at::Tensor out = space_for(outputs);
  std::vector<std::uint64_t> counts;
  bool are_equal = true;
  for (const at::Tensor& block : blocks) {
    counts.push_back(moved_count(block, block.numel()));
    are_equal &= counts.back() == counts.front();
  }
  return start({c10d::OpType::REDUCE_SCATTER, "tutti:reduce_scatter"}, blocks, outputs, options.timeout,
               [group = collectives_, in, out, whole = reduced(in), own = reduced(out), op, outputs, are_equal,
                counts = std::move(counts)](std::chrono::nanoseconds timeout) {
                 if (are_equal) {
                   group.reduce_scatter(whole, own, {.op = op, .timeout = timeout}).wait();
                 } else {
                   std::uint64_t begin = 0;
                   for (int root = 0; root < group.size(); ++root) {
                     group.reduce(part(whole, begin, counts[root]), own, root, {.op = op, .timeout = timeout}).wait();
                     begin += counts[root];
                   }
                 }
                 unpack(out, outputs);
               });
}

ProcessGroup::WorkPointer ProcessGroup::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                             const c10d::ReduceScatterOptions& options) {
  check_sizes(input, output, "the input of reduce_scatter", "the output");
  const Reduction op = reduction_of(options.reduceOp, input);
  const Tensors outputs = {output};
  const at::Tensor in = packed({input});
  const at::Tensor out = space_for(outputs);
  return start({c10d::OpType::_REDUCE_SCATTER_BASE, "tutti:_reduce_scatter_base"}, {input}, outputs, options.timeout,
               [group = collectives_, in, out, from = reduced(in), to = reduced(out), op,
                outputs](std::chrono::nanoseconds timeout) {
                 group.reduce_scatter(from, to, {.op = op, .timeout = timeout}).wait();
                 unpack(out, outputs);
               });
}

}  // namespace tutti::torch_adapter
