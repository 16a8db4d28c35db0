#include "horovod_backend.hpp"

#include <algorithm>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/spi/pending_group.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {

namespace {

constexpr std::chrono::nanoseconds kDefaultTimeout = std::chrono::minutes(10);

[[nodiscard]] bool is_collective(const Operation& operation) { return !is_message(operation.kind); }

}  // namespace

spi::Capabilities host_capabilities(const spi::Capabilities& inner) {
  return inner & spi::Capabilities::all().set_rank_order(true);
}

/// An operation that goes through the engine.
class HorovodCommunicator::Pending final : public spi::PendingOperation {
 public:
  Pending(HorovodCommunicator& communicator, EntryPointer entry, spi::Deadline deadline)
      : communicator_(communicator), entry_(std::move(entry)), deadline_(deadline) {}

 private:
  bool do_poll() override {
    if (!communicator_.engine_.poll(*entry_)) {
      if (std::chrono::steady_clock::now() < deadline_) return false;
      communicator_.finish(*entry_, deadline_);
    }
    if (entry_->error) communicator_.rethrow(*entry_);
    return true;
  }
  bool do_wait(spi::Deadline until) override {
    if (until >= deadline_) {
      communicator_.finish(*entry_, deadline_);
      return true;
    }
    if (!communicator_.engine_.wait(*entry_, until)) return false;
    if (entry_->error) communicator_.rethrow(*entry_);
    return true;
  }

  HorovodCommunicator& communicator_;
  EntryPointer entry_;
  spi::Deadline deadline_;
};

HorovodCommunicator::HorovodCommunicator(const spi::CreateContext& context,
                                         std::unique_ptr<spi::BackendCommunicator> inner_backend,
                                         const spi::Capabilities& capabilities)
    : ForwardingCommunicator(std::move(inner_backend), capabilities),
      rank_(context.peers.rank),
      size_(context.peers.size),
      sets_(context, inner()),
      times_out_(!do_needs_watch()),
      engine_(sets_.all_ranks()),
      front_(sets_, context.peers) {}

HorovodCommunicator::~HorovodCommunicator() = default;

EntryPointer HorovodCommunicator::make_entry(const Operation& operation) const {
  auto entry = std::make_shared<Entry>();
  Request& request = entry->request;
  request.type = operation.type;
  request.op = operation.kind;
  const bool is_allreduce = operation.kind == OpKind::allreduce;
  request.kind = is_allreduce                        ? MessageKind::allreduce
                 : operation.kind == OpKind::barrier ? MessageKind::barrier
                                                     : MessageKind::call;
  if (operation.traits().reduces) {
    request.reduction = operation.reduction;
    request.prescale = operation.prescale;
  }
  if (operation.traits().rooted) request.root = operation.root;
  // Where each rank has its own length, only the ranks together could compare them.
  if (operation.traits().input != Extent::vector && operation.traits().output != Extent::vector) {
    request.shape.push_back(static_cast<std::int64_t>(operation.count));
  }
  // Without a label no later tensor has the same name.
  request.cacheable = !operation.label.empty();
  request.name = std::string(tutti::name(operation.kind));
  request.name +=
      operation.label.empty() ? ".noname." + std::to_string(operation.sequence) : "." + std::string(operation.label);
  entry->operation = operation;
  return entry;
}

void HorovodCommunicator::rethrow(const Entry& entry) const {
  throw Error(entry.error->code(),
              describe(entry.operation) + " '" + spi::printable(entry.request.name) + "' on rank " +
                  std::to_string(rank_) + " of " + std::to_string(size_) + " (" + name() + "): " + entry.error->what(),
              name(), entry.error->vendor_code());
}

/// Waits until the operation is complete. After the deadline the engine ends.
void HorovodCommunicator::finish(Entry& entry, spi::Deadline deadline) {
  if (!engine_.wait(entry, deadline)) {
    const std::string late = describe_stall(engine_.missing_ranks(entry), sets_.ranks(0));
    if (!engine_.wait(entry, std::chrono::steady_clock::now())) {
      sets_.fail(
          Error(ErrorCode::timeout, "not all ranks submitted it in time" + (late.empty() ? "" : ": " + late), name()));
    }
    (void)engine_.wait(entry, spi::Deadline::max());
  }
  if (entry.error) rethrow(entry);
}

void HorovodCommunicator::do_run(const Operation& operation) {
  if (is_message(operation.kind)) return inner().run(operation);
  const EntryPointer entry = make_entry(operation);
  const spi::Deadline deadline = deadline_of(operation);
  engine_.enqueue({&entry, 1}, true);
  finish(*entry, deadline);
}

std::unique_ptr<spi::PendingOperation> HorovodCommunicator::do_start(const Operation& operation) {
  if (is_message(operation.kind)) return inner().start(operation);
  const EntryPointer entry = make_entry(operation);
  engine_.enqueue({&entry, 1}, false);
  return std::make_unique<Pending>(*this, entry, deadline_of(operation));
}

std::unique_ptr<spi::PendingOperation> HorovodCommunicator::do_start_group(std::span<const Operation> operations) {
  std::vector<std::unique_ptr<spi::PendingOperation>> pending;
  std::vector<Operation> messages;
  for (const Operation& operation : operations) {
    if (is_collective(operation)) {
      pending.push_back(start(operation));
    } else {
      messages.push_back(operation);
    }
  }
  if (!messages.empty()) pending.push_back(inner().start_group(messages));
  return std::make_unique<spi::PendingGroup>(std::move(pending));
}

void HorovodCommunicator::do_abort() noexcept {
  sets_.fail(Error(ErrorCode::aborted, "the communicator was aborted", name()));
  inner().abort();
}

bool HorovodCommunicator::do_interrupt(const Error& cause) noexcept {
  const bool outside = sets_.interrupt(cause);
  return inner().interrupt(cause) && outside;
}

void HorovodCommunicator::do_close() noexcept {
  sets_.close();
  inner().close();
}

spi::Deadline HorovodCommunicator::deadline_of(const Operation& operation) const {
  std::chrono::nanoseconds timeout = operation.timeout;
  if (timeout.count() == 0) {
    if (!times_out_) return spi::Deadline::max();  // the core watches the calls
    timeout = kDefaultTimeout;
  }
  if (timeout >= kLongestTimeout) return spi::Deadline::max();
  return std::chrono::steady_clock::now() + timeout;
}

}  // namespace tutti::horovod
