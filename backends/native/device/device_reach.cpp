#include "device/device_reach.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tutti/error.hpp"

namespace tutti::native {
namespace {

// Bytes of the longest block. Below this, opening and closing memory costs more than two copies through the host.
constexpr std::uint64_t kSmallest = 256U << 10;

static_assert(std::is_trivially_copyable_v<DeviceOffer>);

std::uint64_t longest_block(const Operation& operation, int ranks) noexcept {
  if (!is_vector(operation.kind)) return operation.count;
  const bool is_input = operation.traits().input == Extent::vector;
  const std::uint64_t* counts = is_input ? operation.input_layout.counts : operation.output_layout.counts;
  return *std::max_element(counts, counts + ranks);
}

// The other operations have lengths that not all ranks know, or involve two ranks only.
bool is_known(OpKind kind) noexcept {
  switch (kind) {
    case OpKind::allreduce:
    case OpKind::reduce:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatterv:
    case OpKind::allgather:
    case OpKind::allgatherv:
    case OpKind::broadcast:
    case OpKind::gather:
    case OpKind::scatter:
    case OpKind::alltoall:
      return true;
    default:
      return false;
  }
}

std::uint32_t bit(DataType type) noexcept { return 1U << static_cast<unsigned>(type); }

}  // namespace

DeviceReach::DeviceReach(const spi::Peers& peers, bool wanted)
    : rank_(peers.rank),
      size_(peers.size),
      same_process_(peers.same_process),
      given_up_(!wanted),
      inputs_(static_cast<std::size_t>(peers.size)),
      outputs_(static_cast<std::size_t>(peers.size)) {}

bool DeviceReach::wants(const Operation& operation) const noexcept {
  if (given_up_ || size_ == 1 || !is_known(operation.kind)) return false;
  if (longest_block(operation, size_) < kSmallest / size_of(operation.type)) return false;
  if (!operation.traits().reduces) return true;
  return size_ <= static_cast<int>(spi::DeviceReduction::kMaxInputs) && (unreduced_ & bit(operation.type)) == 0;
}

bool DeviceReach::reads_from(int rank, const Operation& operation) const noexcept {
  const OpTraits& traits = operation.traits();
  return (!traits.input_root_only || rank == operation.root) && (!traits.output_root_only || rank_ == operation.root);
}

bool DeviceReach::fill(DeviceOffer::Part& part, const Operation& operation, const void* pointer) const {
  part.pointer = pointer;
  try {
    const spi::IpcHandle handle =
        spi::device_runtime(operation.where.device).export_memory(operation.stream, const_cast<void*>(pointer));
    if (handle.size() > part.handle.size()) return same_process_;
    std::ranges::copy(handle, part.handle.begin());
    part.handle_bytes = static_cast<std::uint32_t>(handle.size());
    return true;
  } catch (const Error&) {
    return same_process_;  // threads of one process may not need the handle
  }
}

DeviceOffer DeviceReach::offer(const Operation& operation) const {
  spi::DeviceRuntime& runtime = spi::device_runtime(operation.where.device);
  DeviceOffer result = {};
  const std::string_view module = runtime.name();
  std::ranges::copy(module.substr(0, result.module.size()), result.module.begin());
  result.is_complete = true;
  const OpTraits& traits = operation.traits();
  const bool has_input = operation.count != 0 || operation.kind == OpKind::reduce_scatterv;
  if (has_input && (!traits.input_root_only || rank_ == operation.root)) {
    result.is_complete = fill(result.input, operation, operation.input);
  }
  if (operation.kind == OpKind::allreduce) {
    result.is_complete = fill(result.output, operation, operation.output) && result.is_complete;
  }
  result.reduces = traits.reduces && runtime.can_reduce(operation.stream, operation.reduction, operation.type);
  return result;
}

bool DeviceReach::is_possible(const Operation& operation, const std::vector<const DeviceOffer*>& offers) noexcept {
  const auto is_whole = [&](const DeviceOffer* offer) {
    return offer->is_complete && offer->module == offers[0]->module;
  };
  if (!std::ranges::all_of(offers, is_whole)) {
    given_up_ = true;
    return false;
  }
  if (!operation.traits().reduces || std::ranges::all_of(offers, &DeviceOffer::reduces)) return true;
  unreduced_ |= bit(operation.type);
  return false;
}

const void* DeviceReach::open(const DeviceOffer::Part& part) {
  if (same_process_) {
    const spi::PointerInfo info = runtime_->locate(stream_, part.pointer);
    if (info.where && info.where->kind == MemoryKind::device) return part.pointer;
  }
  if (part.handle_bytes == 0) {
    throw Error(ErrorCode::unsupported,
                "the memory of another rank is of another device or context, and has no IPC handle", "native");
  }
  return imported_.emplace_back(runtime_->import_memory(stream_, std::span(part.handle).first(part.handle_bytes)));
}

bool DeviceReach::open(const Operation& operation, const std::vector<const DeviceOffer*>& offers) {
  close();
  runtime_ = &spi::device_runtime(operation.where.device);
  stream_ = operation.stream;
  imported_.reserve(2 * offers.size());
  try {
    for (int r = 0; r < size_; ++r) {
      const auto index = static_cast<std::size_t>(r);
      const DeviceOffer& offer = *offers[index];
      if (r == rank_) {
        inputs_[index] = operation.input;
        outputs_[index] = operation.output;
        continue;
      }
      if (reads_from(r, operation) && offer.input.pointer != nullptr) inputs_[index] = open(offer.input);
      if (offer.output.pointer != nullptr) outputs_[index] = open(offer.output);
    }
    return true;
  } catch (const Error&) {
    close();
    return false;
  }
}

void DeviceReach::close_imports() noexcept {
  for (void* memory : imported_) runtime_->close_memory(stream_, memory);
  imported_.clear();
  std::ranges::fill(inputs_, nullptr);
  std::ranges::fill(outputs_, nullptr);
}

void DeviceReach::close() noexcept {
  close_imports();
  runtime_ = nullptr;
}

void DeviceReach::give_up() noexcept {
  close();
  given_up_ = true;
}

}  // namespace tutti::native
