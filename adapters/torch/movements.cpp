// Operations of process groups that move data without reducing it.
#include <utility>

#include "process_group.hpp"
#include "tensors.hpp"
#include "tutti/error.hpp"

namespace tutti::torch_adapter {
namespace {

/// Elements of tutti of each tensor.
std::vector<std::uint64_t> counts_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::uint64_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(moved_count(tensor, tensor.numel()));
  return counts;
}

bool are_equal(const std::vector<std::uint64_t>& counts) {
  for (const std::uint64_t count : counts) {
    if (count != counts.front()) return false;
  }
  return true;
}

/// The only list of an argument that has one per device of the process.
std::vector<at::Tensor>& only_list(std::vector<std::vector<at::Tensor>>& lists, const char* argument) {
  if (lists.size() == 1) return lists.front();
  throw Error(ErrorCode::invalid_argument, std::string(argument) + " has " + std::to_string(lists.size()) +
                                               " lists of tensors; one is needed per process");
}

void refuse_lists(const std::vector<std::vector<at::Tensor>>& lists, const char* argument) {
  if (!lists.empty())
    throw Error(ErrorCode::invalid_argument, std::string(argument) + " must be empty on all ranks but the root");
}

/// Elements of the blocks of an alltoall: as many as the caller says in rows, or equally many.
std::vector<std::int64_t> block_counts(const at::Tensor& tensor, const std::vector<std::int64_t>& rows, int ranks,
                                       const char* argument) {
  const std::int64_t all_rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const std::int64_t row = all_rows == 0 ? 0 : tensor.numel() / all_rows;
  std::vector<std::int64_t> counts(ranks, 0);
  std::int64_t sum = 0;
  if (!rows.empty() && rows.size() != counts.size()) {
    throw Error(ErrorCode::invalid_argument, std::string(argument) + " has " + std::to_string(rows.size()) +
                                                 " split sizes, but the group has " + std::to_string(ranks) + " ranks");
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t block = rows.empty() ? all_rows / ranks : rows[i];
    counts[i] = block * row;
    sum += block;
  }
  if (sum != all_rows) {
    throw Error(ErrorCode::invalid_argument, std::string(argument) + " has " + std::to_string(all_rows) +
                                                 " rows, but its blocks for " + std::to_string(ranks) + " ranks have " +
                                                 std::to_string(sum));
  }
  return counts;
}

}  // namespace

void ProcessGroup::check_list(const Tensors& tensors, const char* argument) const {
  check_tensors(tensors, argument);
  if (tensors.size() != static_cast<std::size_t>(getSize())) {
    throw Error(ErrorCode::invalid_argument, std::string(argument) + " has " + std::to_string(tensors.size()) +
                                                 " tensors, but the group has " + std::to_string(getSize()) + " ranks");
  }
}

void ProcessGroup::check_sizes(const at::Tensor& whole, const at::Tensor& part, const char* whole_name,
                               const char* part_name) const {
  check_tensor(whole, whole_name);
  check_tensor(part, part_name);
  if (whole.scalar_type() != part.scalar_type() || whole.numel() != part.numel() * getSize()) {
    throw Error(ErrorCode::invalid_argument, std::string(whole_name) + " has " + std::to_string(whole.numel()) +
                                                 " elements of " + c10::toString(whole.scalar_type()) + " and " +
                                                 part_name + " " + std::to_string(part.numel()) + " of " +
                                                 c10::toString(part.scalar_type()) + "; the first must be " +
                                                 std::to_string(getSize()) + " times as large and of the same type");
  }
}

ProcessGroup::WorkPointer ProcessGroup::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  (void)only_tensor(tensors, "the tensor of broadcast");
  const int root = static_cast<int>(options.rootRank);
  const at::Tensor flat = root == getRank() ? packed(tensors) : space_for(tensors);
  return start({c10d::OpType::BROADCAST, "tutti:broadcast"}, tensors, tensors, options.timeout,
               [group = collectives_, flat, root, tensors](std::chrono::nanoseconds timeout) {
                 group.broadcast(moved(flat), root, {.timeout = timeout}).wait();
                 if (group.rank() != root) unpack(flat, tensors);
               });
}

ProcessGroup::WorkPointer ProcessGroup::allgather(TensorLists& outputs, Tensors& inputs,
                                                  const c10d::AllgatherOptions& options) {
  (void)only_tensor(inputs, "the input of allgather");
  const Tensors& blocks = only_list(outputs, "the output of allgather");
  check_list(blocks, "the output of allgather");
  const at::Tensor in = packed(inputs);
  const at::Tensor out = space_for(blocks);
  return start({c10d::OpType::ALLGATHER, "tutti:all_gather"}, inputs, blocks, options.timeout,
               [group = collectives_, in, out, blocks, counts = counts_of(blocks)](std::chrono::nanoseconds timeout) {
                 if (are_equal(counts))
                   group.allgather(moved(in), moved(out), {.timeout = timeout}).wait();
                 else
                   group.allgatherv(moved(in), moved(out), {.counts = counts}, {.timeout = timeout}).wait();
                 unpack(out, blocks);
               });
}

ProcessGroup::WorkPointer ProcessGroup::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                        const c10d::AllgatherOptions& options) {
  check_sizes(output, input, "the output of allgather", "the input");
  const Tensors outputs = {output};
  const at::Tensor in = packed({input});
  const at::Tensor out = space_for(outputs);
  return start({c10d::OpType::_ALLGATHER_BASE, "tutti:_all_gather_base"}, {input}, outputs, options.timeout,
               [group = collectives_, in, out, outputs](std::chrono::nanoseconds timeout) {
                 group.allgather(moved(in), moved(out), {.timeout = timeout}).wait();
                 unpack(out, outputs);
               });
}

ProcessGroup::WorkPointer ProcessGroup::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                            const c10d::AllgatherOptions& options) {
  if (outputs.size() != static_cast<std::size_t>(getSize())) {
    throw Error(ErrorCode::invalid_argument, "the output of allgather_coalesced has " + std::to_string(outputs.size()) +
                                                 " lists, but the group has " + std::to_string(getSize()) + " ranks");
  }
  for (const Tensors& list : outputs) {
    if (list.size() != inputs.size())
      throw Error(ErrorCode::invalid_argument, "a list of outputs of allgather_coalesced has " +
                                                   std::to_string(list.size()) + " tensors for " +
                                                   std::to_string(inputs.size()) + " inputs");
  }
  WorkPointer last;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorLists blocks(1);
    for (Tensors& list : outputs) blocks.front().push_back(list[i]);
    Tensors input = {inputs[i]};
    last = allgather(blocks, input, options);
  }
  // Calls end in their order: the last stands for all. Without inputs there is nothing to wait for.
  return last != nullptr ? last
                         : start({c10d::OpType::ALLGATHER_COALESCED, "tutti:all_gather"}, {}, {}, options.timeout,
                                 [](std::chrono::nanoseconds) {});
}

ProcessGroup::WorkPointer ProcessGroup::gather(TensorLists& outputs, Tensors& inputs,
                                               const c10d::GatherOptions& options) {
  (void)only_tensor(inputs, "the input of gather");
  const int root = static_cast<int>(options.rootRank);
  const bool is_root = root == getRank();
  Tensors blocks;
  at::Tensor out = at::empty({0}, inputs.front().options().requires_grad(false));
  if (is_root) {
    blocks = only_list(outputs, "the output of gather");
    check_list(blocks, "the output of gather");
    out = space_for(blocks);
  } else {
    refuse_lists(outputs, "the output of gather");
  }
  return start({c10d::OpType::GATHER, "tutti:gather"}, inputs, blocks, options.timeout,
               [group = collectives_, in = packed(inputs), out, blocks, root,
                counts = counts_of(blocks)](std::chrono::nanoseconds timeout) {
                 group.gatherv(moved(in), moved(out), {.counts = counts}, root, {.timeout = timeout}).wait();
                 if (!blocks.empty()) unpack(out, blocks);
               });
}

ProcessGroup::WorkPointer ProcessGroup::scatter(Tensors& outputs, TensorLists& inputs,
                                                const c10d::ScatterOptions& options) {
  (void)only_tensor(outputs, "the output of scatter");
  const int root = static_cast<int>(options.rootRank);
  Tensors blocks;
  at::Tensor in = at::empty({0}, outputs.front().options().requires_grad(false));
  if (root == getRank()) {
    blocks = only_list(inputs, "the input of scatter");
    check_list(blocks, "the input of scatter");
    in = packed(blocks);
  } else {
    refuse_lists(inputs, "the input of scatter");
  }
  const at::Tensor out = space_for(outputs);
  return start(
      {c10d::OpType::SCATTER, "tutti:scatter"}, blocks, outputs, options.timeout,
      [group = collectives_, in, out, outputs, root, counts = counts_of(blocks)](std::chrono::nanoseconds timeout) {
        group.scatterv(moved(in), {.counts = counts}, moved(out), root, {.timeout = timeout}).wait();
        unpack(out, outputs);
      });
}

ProcessGroup::Body ProcessGroup::exchange(const at::Tensor& input, std::vector<std::int64_t> input_counts,
                                          const at::Tensor& output, std::vector<std::int64_t> output_counts,
                                          std::function<void()> end) const {
  const auto elements = [&input](const std::vector<std::int64_t>& counts) {
    std::vector<std::uint64_t> result;
    for (const std::int64_t count : counts) result.push_back(moved_count(input, count));
    return result;
  };
  // Always with a length per pair: ranks may not know whether the lengths of the others are equal.
  return [group = collectives_, input, output, in = elements(input_counts), out = elements(output_counts),
          end = std::move(end)](std::chrono::nanoseconds timeout) {
    group.alltoallv(moved(input), {.counts = in}, moved(output), {.counts = out}, {.timeout = timeout}).wait();
    end();
  };
}

ProcessGroup::WorkPointer ProcessGroup::alltoall(Tensors& outputs, Tensors& inputs,
                                                 const c10d::AllToAllOptions& options) {
  check_list(inputs, "the input of alltoall");
  check_list(outputs, "the output of alltoall");
  std::vector<std::int64_t> input_counts;
  std::vector<std::int64_t> output_counts;
  for (const at::Tensor& tensor : inputs) input_counts.push_back(tensor.numel());
  for (const at::Tensor& tensor : outputs) output_counts.push_back(tensor.numel());
  const at::Tensor out = space_for(outputs);
  return start({c10d::OpType::ALLTOALL, "tutti:all_to_all"}, inputs, outputs, options.timeout,
               exchange(packed(inputs), std::move(input_counts), out, std::move(output_counts),
                        [out, outputs] { unpack(out, outputs); }));
}

ProcessGroup::WorkPointer ProcessGroup::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                      std::vector<std::int64_t>& output_rows,
                                                      std::vector<std::int64_t>& input_rows,
                                                      const c10d::AllToAllOptions& options) {
  check_tensor(input, "the input of alltoall");
  check_tensor(output, "the output of alltoall");
  const Tensors outputs = {output};
  const at::Tensor out = space_for(outputs);
  return start({c10d::OpType::ALLTOALL_BASE, "tutti:all_to_all"}, {input}, outputs, options.timeout,
               exchange(packed({input}), block_counts(input, input_rows, getSize(), "the input of alltoall"), out,
                        block_counts(output, output_rows, getSize(), "the output of alltoall"),
                        [out, outputs] { unpack(out, outputs); }));
}

#if TORCH_VERSION_MAJOR >= 2
ProcessGroup::WorkPointer ProcessGroup::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                        const c10d::AllgatherOptions& options) {
  check_tensors(outputs, "the output of allgather");
  if (inputs.size() != outputs.size())
    throw Error(ErrorCode::invalid_argument, "allgather_into_tensor_coalesced needs one output per input");
  WorkPointer last;
  for (std::size_t i = 0; i < inputs.size(); ++i) last = _allgather_base(outputs[i], inputs[i], options);
  return last;
}

ProcessGroup::WorkPointer ProcessGroup::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                        const c10d::ReduceScatterOptions& options) {
  check_tensors(outputs, "the output of reduce_scatter");
  if (inputs.size() != outputs.size())
    throw Error(ErrorCode::invalid_argument, "reduce_scatter_tensor_coalesced needs one output per input");
  WorkPointer last;
  for (std::size_t i = 0; i < inputs.size(); ++i) last = _reduce_scatter_base(outputs[i], inputs[i], options);
  return last;
}
#endif

}  // namespace tutti::torch_adapter
