#include "device/device_collective.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "algorithms/blocks.hpp"
#include "algorithms/reduce_pipeline.hpp"
#include "algorithms/shares.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::native {
namespace {

/// Work of the operation's device. The destructor waits for it, also after an error, because the memory is closed next.
class DeviceWork {
 public:
  explicit DeviceWork(const Operation& operation)
      : operation_(operation), runtime_(spi::device_runtime(operation.where.device)) {}
  ~DeviceWork() {
    try {
      wait();
    } catch (const Error&) {  // NOLINT: the work has ended, with an error
    }
  }
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  /// Copies to `offset` of the output, unless `from` is that place.
  void copy(std::uint64_t offset, const std::byte* from, std::uint64_t bytes) {
    std::byte* to = output(offset);
    if (bytes == 0 || to == from) return;
    events_.push_back(runtime_.copy(operation_.stream, Buffer(to, bytes, DataType::uint8, operation_.where),
                                    ConstBuffer(from, bytes, DataType::uint8, operation_.where)));
  }
  void reduce(const spi::DeviceReduction& reduction) {
    if (reduction.count != 0) events_.push_back(runtime_.reduce(operation_.stream, reduction));
  }
  void wait() {
    while (!events_.empty()) {
      const std::unique_ptr<spi::DeviceEvent> event = std::move(events_.back());
      events_.pop_back();
      event->wait();
    }
  }
  [[nodiscard]] std::byte* output(std::uint64_t offset) const noexcept {
    return static_cast<std::byte*>(operation_.output) + offset;
  }

 private:
  const Operation& operation_;
  spi::DeviceRuntime& runtime_;
  std::vector<std::unique_ptr<spi::DeviceEvent>> events_;
};

/// A rank's part of a vector, in elements; all ranks split it in the same way.
struct Share {
  std::uint64_t begin;
  std::uint64_t count;

  static Share of(int rank, const Operation& operation, int ranks) noexcept {
    const std::uint64_t line = kLine / size_of(operation.type);
    const std::uint64_t each = (operation.count / static_cast<std::uint64_t>(ranks) / line + 1) * line;
    const std::uint64_t begin = std::min(each * static_cast<std::uint64_t>(rank), operation.count);
    return {begin, std::min(each, operation.count - begin)};
  }
};

}  // namespace

bool DeviceCollective::prepare(const Operation& operation) {
  if (!reach_.wants(operation) || !engine_.may_meet_on_device(operation)) return false;
  try {
    meet(operation);
  } catch (...) {
    reach_.close();
    throw;
  }
  return reach_.is_open();
}

void DeviceCollective::run(const Operation& operation) {
  try {
    if (!operation.traits().reduces) {
      move(operation);
    } else {
      combine(operation);
      if (operation.kind == OpKind::allreduce) {
        meet(operation);
        collect(operation);
      }
    }
    reach_.close_imports();
    meet(operation);  // afterwards the owners may free their memory
    reach_.close();
  } catch (const Error& error) {
    reach_.close();
    engine_.give_up(error);
    throw;
  } catch (...) {
    reach_.close();
    engine_.give_up(operation);
    throw;
  }
}

void DeviceCollective::move(const Operation& operation) {
  const OpTraits& traits = operation.traits();
  const Engine::Visit visit(engine_, operation);
  DeviceWork work(operation);
  const auto take = [&](int peer, std::uint64_t offset, std::uint64_t bytes) {
    if (!reach_.reads_from(peer, operation)) return;
    const bool is_cut = traits.input == Extent::blocks;
    const std::uint64_t begin = is_cut ? static_cast<std::uint64_t>(engine_.rank()) * operation.block_bytes() : 0;
    work.copy(offset, reach_.input(peer) + begin, bytes);
  };
  if (traits.output == Extent::block) {
    take(operation.root, 0, operation.block_bytes());
  } else {
    for_each_block(traits.output, operation.output_layout, operation, engine_.size(), take);
  }
  work.wait();
}

void DeviceCollective::combine(const Operation& operation) {
  const int ranks = engine_.size();
  Share share = {0, operation.count};
  if (operation.kind == OpKind::allreduce) share = Share::of(engine_.rank(), operation, ranks);
  if (operation.kind == OpKind::reduce && engine_.rank() != operation.root) return;
  const std::uint64_t size = size_of(operation.type);
  const std::uint64_t from =
      scatters_result(operation.kind) ? Shares::blocks(operation, ranks).begin(engine_.rank()) : share.begin;
  const Engine::Visit visit(engine_, operation);
  DeviceWork work(operation);
  std::array<const void*, spi::DeviceReduction::kMaxInputs> inputs;
  for (int r = 0; r < ranks; ++r) inputs[static_cast<std::size_t>(r)] = reach_.input(r) + from * size;
  const std::array<void*, 1> outputs = {work.output(share.begin * size)};
  const spi::ReduceTuning tuning = reduce_tuning(operation, ranks);
  work.reduce({.reduction = operation.reduction == Reduction::average ? Reduction::sum : operation.reduction,
               .type = operation.type,
               .count = share.count,
               .outputs = outputs,
               .inputs = std::span(inputs).first(static_cast<std::size_t>(ranks)),
               .prescale = tuning.prescale,
               .divisor = tuning.divisor});
  work.wait();
}

void DeviceCollective::collect(const Operation& operation) {
  const std::uint64_t size = size_of(operation.type);
  const Engine::Visit visit(engine_, operation);
  DeviceWork work(operation);
  for (int r = 0; r < engine_.size(); ++r) {
    const Share share = Share::of(r, operation, engine_.size());
    work.copy(share.begin * size, reach_.output(r) + share.begin * size, share.count * size);
  }
  work.wait();
}

void DeviceCollective::meet(const Operation& operation) {
  engine_.check_alive(operation);
  Task task(engine_, operation);
  (void)engine_.drive(task, spi::Deadline::max());
}

}  // namespace tutti::native
