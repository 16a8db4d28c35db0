#include "common/stream_executor.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/stream_pending.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti::common {
namespace {

spi::Deadline deadline_of(const Operation& operation) noexcept {
  return operation.timeout.count() == 0 ? spi::Deadline::max() : std::chrono::steady_clock::now() + operation.timeout;
}

/// Keeps a resource for good, because work that never ends may still use it.
void abandon(std::shared_ptr<void> resource) {
  static std::mutex mutex;
  static auto* const abandoned = new std::vector<std::shared_ptr<void>>;  // never destroyed
  const std::scoped_lock lock(mutex);
  abandoned->push_back(std::move(resource));
}

}  // namespace

StreamExecutor::~StreamExecutor() { drain(); }

Operation StreamExecutor::on_stream(const Operation& operation) {
  Operation placed = operation;
  if (placed.stream.is_host()) placed.stream = own_stream(placed.where.device);
  return placed;
}

const Stream& StreamExecutor::own_stream(Device device) {
  const auto is_there = [device](const auto& known) { return known->stream().device() == device; };
  const auto known = std::ranges::find_if(own_streams_, is_there);
  if (known != own_streams_.end()) return (*known)->stream();
  spi::DeviceRuntime& runtime = spi::device_runtime(device);
  return own_streams_.emplace_back(runtime.make_stream(runtime.stream(device)))->stream();
}

StreamLibrary::Finish StreamExecutor::enqueue(std::span<const Operation> operations) {
  release_reached();
  const spi::Deadline deadline = deadline_of(operations.front());
  std::vector<Enqueued> next;
  for (const Operation& operation : operations) {
    const Stream& stream = operation.stream;
    if (std::ranges::any_of(next, [&](const Enqueued& known) { return known.stream == stream; })) continue;
    next.push_back({stream, nullptr, nullptr, deadline});
    for (const Enqueued& before : last_) {
      if (before.stream != stream) before.end->hold_back(spi::device_runtime(stream.device()), stream);
    }
  }
  StreamLibrary::Finish finish;
  try {
    library_.enqueue(operations, finish);
    for (Enqueued& one : next) {
      one.end = std::make_shared<SharedEvent>(spi::device_runtime(one.stream.device()).record(one.stream));
    }
  } catch (const Error& error) {
    const Error told(error.code(), where(operations.front()) + ": " + error.what(), std::string(identity_.backend),
                     error.vendor_code());
    if (spi::ends_communicator(error.code())) give_up(told);
    // Only after give_up(): until then the library may enqueue the rest of the operations.
    if (finish) outlive(next, std::make_shared<StreamLibrary::Finish>(std::move(finish)));
    throw told;  // NOLINT: with its context
  }
  last_ = std::move(next);
  if (!finish) return {};
  // Kept here too: a pending operation may be dropped with its Finish while the streams still use what Finish holds.
  auto held = std::make_shared<StreamLibrary::Finish>(std::move(finish));
  for (const Enqueued& one : last_) kept_.push_back({one.stream, one.end, held, deadline});
  return [held] { (*held)(); };
}

std::unique_ptr<spi::PendingOperation> StreamExecutor::start(const Operation& operation) {
  check_alive(operation);
  const Operation placed = on_stream(operation);
  StreamLibrary::Finish finish = enqueue({&placed, 1});
  return std::make_unique<StreamPending>(*this, placed, last_.front().end, std::move(finish));
}

void StreamExecutor::run(const Operation& operation) { (void)start(operation)->wait(spi::Deadline::max()); }

std::unique_ptr<spi::PendingOperation> StreamExecutor::start_group(std::span<const Operation> operations) {
  check_alive(operations.front());
  std::vector<Operation> placed;
  placed.reserve(operations.size());
  for (const Operation& operation : operations) placed.push_back(on_stream(operation));
  StreamLibrary::Finish finish = enqueue(placed);
  std::vector<std::unique_ptr<spi::PendingOperation>> streams;
  for (const Enqueued& one : last_) {
    // The group looks at the last stream when the others have ended.
    const bool is_last = &one == &last_.back();
    streams.push_back(std::make_unique<StreamPending>(*this, placed.front(), one.end,
                                                      is_last ? std::move(finish) : StreamLibrary::Finish()));
  }
  return std::make_unique<spi::PendingGroup>(std::move(streams));
}

void StreamExecutor::keep(const Stream& stream, std::shared_ptr<void> resource) {
  release_reached();
  auto end = std::make_shared<SharedEvent>(spi::device_runtime(stream.device()).record(stream));
  kept_.push_back({stream, std::move(end), std::move(resource), spi::Deadline::max()});
}

void StreamExecutor::outlive(std::span<const Enqueued> streams, const std::shared_ptr<void>& resource) noexcept {
  for (const Enqueued& one : streams) {
    try {
      keep(one.stream, resource);
    } catch (const Error&) {
      abandon(resource);
    }
  }
}

void StreamExecutor::release_reached() {
  std::erase_if(kept_, [](const Enqueued& one) {
    try {
      return one.end->reached();
    } catch (const Error&) {
      return true;  // it ended with an error, which its operation reports
    }
  });
}

void StreamExecutor::drain() noexcept {
  for (const Enqueued& one : last_) (void)await(one);
  last_.clear();
  for (Enqueued& one : kept_) {
    if (!await(one)) abandon(std::move(one.resource));
  }
  kept_.clear();
}

bool StreamExecutor::await(const Enqueued& one) noexcept {
  try {
    auto next_look = std::chrono::steady_clock::now() + kGlance;
    while (!one.end->reached()) {
      if (failure_.has_failed()) return false;
      if (std::chrono::steady_clock::now() >= next_look) {
        look_after(one);
        next_look = std::chrono::steady_clock::now() + kGlance;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } catch (const std::exception&) {
    // It ended with an error, which its operation reports.
  }
  return true;
}

void StreamExecutor::look_after(const Enqueued& one) {
  if (const std::optional<Error> error = library_.asynchronous_error()) return give_up(*error);
  if (std::chrono::steady_clock::now() < one.deadline) return;
  give_up(
      Error(ErrorCode::timeout,
            "operations were still pending when the communicator was destroyed, and did not end within their timeout",
            std::string(identity_.backend)));
}

void StreamExecutor::abort() noexcept {
  give_up(Error(ErrorCode::aborted, "the communicator was aborted", std::string(identity_.backend)));
}

void StreamExecutor::give_up(const Error& cause) noexcept {
  if (failure_.keep(cause)) library_.abort();
}

void StreamExecutor::check_library(const Operation& operation) {
  const std::optional<Error> error = library_.asynchronous_error();
  if (!error) return;
  const Error told(error->code(), where(operation) + ": " + error->what(), std::string(identity_.backend),
                   error->vendor_code());
  give_up(told);
  throw Error(told);
}

void StreamExecutor::fail_late(const Operation& operation) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(operation.timeout);
  const Error late(ErrorCode::timeout,
                   where(operation) + ": not complete after " + std::to_string(time.count()) + " ms",
                   std::string(identity_.backend));
  give_up(late);
  throw Error(late);
}

std::string StreamExecutor::where(const Operation& operation) const {
  return describe(operation) + " on rank " + std::to_string(identity_.rank) + " of " + std::to_string(identity_.size) +
         " (" + std::string(identity_.backend) + ")";
}

}  // namespace tutti::common
