#include "nccl_channel.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "common/device_image.hpp"
#include "common/operation_timing.hpp"
#include "nccl_library.hpp"
#include "nccl_types.hpp"
#include "tutti/error.hpp"

namespace tutti::nccl {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOwner = "nccl";
/// Time before a rank that has ended counts as dead: a rank that has completed its part of an operation may exit before
/// the others have completed theirs.
constexpr auto kGraceForTheGone = 500ms;
/// Operations that are still pending this long after the destructor began will never complete.
constexpr auto kTimeToFinish = 10s;
/// Interval at which a waiting rank checks whether another rank has failed.
constexpr auto kBetweenChecks = 100ms;

/// The configuration of NCCL 2.14, whose only member is `blocking`. Later libraries fill in the members that it lacks.
ncclConfig_t non_blocking_config() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.size = offsetof(ncclConfig_t, cgaClusterSize);
  config.version = kOldestVersion;
  config.blocking = 0;
  return config;
}

bool is_aligned(const void* pointer, DataType type) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) % size_of(type) == 0;
}

/// Whether the operation needs a DeviceImage: the GPU cannot reach its memory, or cannot load its elements because they
/// are not aligned.
bool needs_image(const Operation& operation) {
  const bool has_buffers = operation.input != nullptr || operation.output != nullptr;
  if (operation.where.device.is_host()) return has_buffers;
  return operation.traits().reduces &&
         (!is_aligned(operation.input, operation.type) || !is_aligned(operation.output, operation.type));
}

}  // namespace

Channel::Channel(const Api& api, spi::DeviceRuntime& runtime, Device device, const spi::CreateContext& context)
    : api_(api),
      runtime_(runtime),
      device_(device),
      rank_(context.peers.rank),
      size_(context.peers.size),
      watch_(context.rendezvous, context.peers),
      pool_(runtime, runtime.stream(device), kOwner),
      barrier_block_(pool_.take(MemoryKind::device, 1)) {
  // A rank that fails tells the others, which would otherwise wait for it.
  common::run_together(context.rendezvous, "nccl.made",
                       [&](const common::CheckOthers& check_others) { make(context, check_others); });
}

void Channel::make(const spi::CreateContext& context, const common::CheckOthers& check_others) {
  const std::string shared = common::share_identifier(context.rendezvous, "nccl.id", [&] {
    ncclUniqueId made = {};
    check(api_, api_.get_unique_id(&made), nullptr);
    return std::string(made.internal, sizeof made.internal);
  });
  ncclUniqueId id = {};
  std::memcpy(id.internal, shared.data(), std::min(shared.size(), sizeof id.internal));
  try {
    {
      const auto current = runtime_.make_current(device_);  // NCCL uses the current device
      ncclConfig_t config = non_blocking_config();
      check(api_, api_.comm_init_rank_config(&comm_, size_, id, rank_, &config), nullptr);
    }
    settle(context.rendezvous.timeout(), "creating an NCCL communicator: not all ranks have joined", check_others);
  } catch (const Error&) {
    abort();
    throw;
  }
}

Channel::~Channel() {
  if (comm_ == nullptr) return;
  try {
    check(api_, api_.comm_finalize(comm_), comm_);
    settle(kTimeToFinish, "finalising an NCCL communicator: not complete");
    (void)api_.comm_destroy(comm_);
  } catch (const Error&) {
    abort();
  }
}

ncclResult_t Channel::state() {
  const std::scoped_lock lock(mutex_);
  if (comm_ == nullptr) throw Error(ErrorCode::aborted, "the communicator was aborted", "nccl");
  ncclResult_t state = ncclSuccess;
  check(api_, api_.comm_get_async_error(comm_, &state), comm_);
  check(api_, state, comm_);
  return state;
}

void Channel::settle(std::chrono::nanoseconds time, const char* what, const common::CheckOthers& check_others) {
  const auto end = Clock::now() + std::min(time, kLongestTimeout);
  auto next_check = Clock::now() + kBetweenChecks;
  for (auto nap = 1us; state() == ncclInProgress; nap = std::min(2 * nap, std::chrono::microseconds(1ms))) {
    if (const auto error = asynchronous_error()) throw Error(*error);
    const auto now = Clock::now();
    if (check_others && now >= next_check) {
      check_others();
      next_check = now + kBetweenChecks;
    }
    if (now >= end) {
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(time);
      throw Error(ErrorCode::timeout, std::string(what) + " after " + std::to_string(waited.count()) + " ms", "nccl");
    }
    std::this_thread::sleep_for(nap);
  }
}

std::optional<Error> Channel::asynchronous_error() {
  try {
    (void)state();
  } catch (const Error& error) {
    return error;
  }
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  if (!gone_) {
    if (const std::optional<int> rank = watch_.find_gone()) gone_ = {*rank, now};
  }
  if (!gone_ || now - gone_->since < kGraceForTheGone) return std::nullopt;
  return Error(ErrorCode::peer_failure, "rank " + std::to_string(gone_->rank) + " died", "nccl");
}

void Channel::abort() noexcept {
  const std::scoped_lock lock(mutex_);
  if (comm_ != nullptr) (void)api_.comm_abort(comm_);
  comm_ = nullptr;
}

void Channel::check_device(const Operation& operation) const {
  const Device memory = operation.where.device;
  const Device found = memory.is_host() || memory == device_ ? operation.stream.device() : memory;
  if (found == device_) return;
  throw Error(
      ErrorCode::invalid_argument,
      "the memory or stream belongs to " + found.name() + ", but this rank of the communicator is on " + device_.name(),
      "nccl");
}

void Channel::enqueue(std::span<const Operation> operations, Finish& finish) {
  std::vector<std::shared_ptr<common::DeviceImage>> images;
  std::vector<Operation> placed;
  placed.reserve(operations.size());
  for (const Operation& operation : operations) {
    check_device(operation);
    placed.push_back(operation);
    if (!needs_image(operation)) continue;
    images.push_back(std::make_shared<common::DeviceImage>(pool_, runtime_, operation.stream, operation, size_));
    placed.back() = images.back()->operation();
  }
  const auto finish_images = [images] {
    for (const auto& image : images) image->finish();
  };
  if (!images.empty()) finish = finish_images;  // before the uploads: keeps the images if one of them throws
  for (const auto& image : images) image->upload();
  // NCCL runs a group as one kernel, so one timing covers all operations.
  std::shared_ptr<common::OperationTiming> timing;
  if (observer() != nullptr)
    timing = std::make_shared<common::OperationTiming>(placed.front().kind, placed.front().stream);
  issue_all(placed);
  if (timing != nullptr) timing->stop();
  for (const auto& image : images) image->download();
  if (timing == nullptr) return;
  finish = [finish_images, timing] {
    timing->report();
    finish_images();
  };
}

void Channel::issue_all(std::span<const Operation> operations) {
  ncclResult_t result = ncclSuccess;
  {
    const std::scoped_lock lock(mutex_);
    if (comm_ == nullptr) throw Error(ErrorCode::aborted, "the communicator was aborted", "nccl");
    const bool is_group = operations.size() > 1;
    if (is_group) check(api_, api_.group_start(), comm_);
    for (const Operation& operation : operations) {
      result = issue(operation);
      if (is_failure(result)) break;
    }
    if (is_group) result = end_group(result);
    for (const ncclRedOp_t one : scaled_sums_) (void)api_.red_op_destroy(one, comm_);
    scaled_sums_.clear();
    check(api_, result, comm_);
  }
  const std::chrono::nanoseconds time = operations.front().timeout;
  if (result == ncclInProgress) settle(time.count() == 0 ? kLongestTimeout : time, "not started by all ranks");
}

}  // namespace tutti::nccl
