#include "nccl_comm.hpp"

#include <cstddef>
#include <set>
#include <utility>

#include "nccl_error.hpp"
#include "nccl_report.hpp"

namespace {

/// The living communicators of the process, to recognise handles that were destroyed.
class Living {
 public:
  void add(const ncclComm* comm) {
    const std::scoped_lock lock(mutex_);
    comms_.insert(comm);
  }
  void remove(const ncclComm* comm) {
    const std::scoped_lock lock(mutex_);
    comms_.erase(comm);
  }
  [[nodiscard]] bool has(const ncclComm* comm) {
    const std::scoped_lock lock(mutex_);
    return comms_.contains(comm);
  }

  /// Never destroyed: programs may destroy communicators while the process ends.
  static Living& instance() {
    static auto& living = *new Living;
    return living;
  }

 private:
  std::mutex mutex_;
  std::set<const ncclComm*> comms_;
};

}  // namespace

namespace tutti::nccl_adapter {

Settings settings_of(const ncclConfig_t* config, const Settings& parent) {
  Settings settings = parent;
  if (config == nullptr) return settings;
  if (config->magic != NCCL_API_MAGIC || config->size < offsetof(ncclConfig_t, cgaClusterSize))
    refuse_argument("the ncclConfig_t was not initialised with NCCL_CONFIG_INITIALIZER");
  if (config->blocking != NCCL_CONFIG_UNDEF_INT) {
    if (config->blocking != 0 && config->blocking != 1)
      refuse_argument("blocking of the ncclConfig_t is " + std::to_string(config->blocking) + ", neither 0 nor 1");
    settings.is_blocking = config->blocking == 1;
  }
  // Older programs have shorter structures.
  if (config->size >= offsetof(ncclConfig_t, commName) + sizeof(config->commName) && config->commName != nullptr)
    settings.name = config->commName;
  return settings;
}

}  // namespace tutti::nccl_adapter

using namespace tutti::nccl_adapter;

ncclComm::ncclComm(int rank, int size, Settings settings) : rank_(rank), size_(size), settings_(std::move(settings)) {
  Living::instance().add(this);
}

ncclComm::~ncclComm() {
  settle();
  Living::instance().remove(this);
}

ncclComm& ncclComm::of(ncclComm_t comm) {
  if (comm == nullptr) refuse_argument("the communicator is null");
  if (!Living::instance().has(comm)) refuse_argument("the communicator was destroyed, or never made");
  return *comm;
}

void ncclComm::begin(Meeting meeting) {
  if (settings_.is_blocking) {
    create(meeting);
    return;
  }
  creator_ = std::thread([this, meeting = std::move(meeting)] { (void)guarded([&] { create(meeting); }); });
}

void ncclComm::create(const Meeting& meeting) {
  try {
    begin_report();
    rendezvous_ = meeting();
    communicator_ = tutti::Communicator(*rendezvous_, {.name = settings_.name});
  } catch (const tutti::Error& error) {
    failure_ = error.what();
    state_ = result_of(error);
    throw;
  } catch (const std::exception& error) {
    failure_ = error.what();
    state_ = ncclInternalError;
    throw;
  }
  state_ = ncclSuccess;
}

void ncclComm::check_created() const {
  const ncclResult_t state = state_;
  if (state == ncclInProgress) {
    refuse_usage(
        "the communicator is still being created; call ncclCommGetAsyncError() until its state is not ncclInProgress");
  }
  if (!communicator_)
    throw tutti::Error(tutti::ErrorCode::invalid_usage, "the communicator was not created: " + failure_);
}

tutti::Communicator ncclComm::use() const {
  check_created();
  if (is_revoked_)
    throw tutti::Error(tutti::ErrorCode::invalid_usage,
                       "the communicator was revoked; it can only be "
                       "split, shrunk or destroyed");
  return communicator_;
}

const tutti::Rendezvous& ncclComm::rendezvous() const {
  check_created();
  return *rendezvous_;
}

ncclResult_t ncclComm::state() {
  if (state_ != ncclSuccess) return state_;
  const std::scoped_lock lock(mutex_);
  if (last_.ready() && last_.error() != nullptr) {
    set_last_error(last_.error()->what());
    state_ = result_of(*last_.error());
  }
  return state_;
}

void ncclComm::follow(tutti::Work work) {
  const std::scoped_lock lock(mutex_);
  if (last_.error() == nullptr) last_ = std::move(work);
}

void ncclComm::revoke() noexcept {
  is_revoked_ = true;
  if (state_ != ncclInProgress && communicator_) communicator_.abort();
}

void ncclComm::settle() {
  if (creator_.joinable()) creator_.join();
}

ncclRedOp_t ncclComm::add(PreMulSum reduction) {
  const std::scoped_lock lock(mutex_);
  const auto op = static_cast<ncclRedOp_t>(next_reduction_++);
  reductions_.emplace(op, reduction);
  return op;
}

void ncclComm::remove(ncclRedOp_t op) {
  const std::scoped_lock lock(mutex_);
  if (reductions_.erase(op) == 0) refuse_argument("the reduction was not made by ncclRedOpCreatePreMulSum()");
}

PreMulSum ncclComm::find(ncclRedOp_t op) const {
  const std::scoped_lock lock(mutex_);
  const auto found = reductions_.find(op);
  if (found == reductions_.end())
    refuse_argument("reduction " + std::to_string(op) + " does not exist for this communicator");
  return found->second;
}
