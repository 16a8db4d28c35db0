// Creation, end and properties of communicators in NCCL's interface.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nccl_comm.hpp"
#include "nccl_error.hpp"
#include "nccl_group.hpp"
#include "unique_id.hpp"

namespace tutti::nccl_adapter {
namespace {

void check_place(const ncclComm_t* comm, int rank, int size) {
  if (comm == nullptr) refuse_argument("the place for the new communicator is a null pointer");
  if (size < 1 || rank < 0 || rank >= size)
    refuse_argument("rank " + std::to_string(rank) + " of " + std::to_string(size) + " ranks does not exist");
}

/// Makes a communicator now or, in a group, at its end. Its handle is there at once.
ncclResult_t make(ncclComm_t* place, int rank, int size, const Settings& settings, Meeting meeting) {
  auto comm = std::make_unique<ncclComm>(rank, size, settings);
  ncclComm& created = *comm;
  *place = comm.get();
  if (is_grouping() || !settings.is_blocking) {
    comm.release();  // NOLINT: the caller destroys it, also after a failure
    create_in_group([&created, meeting = std::move(meeting)] { created.begin(meeting); });
    return settings.is_blocking ? ncclSuccess : ncclInProgress;
  }
  *place = nullptr;
  created.begin(std::move(meeting));
  *place = comm.release();
  return ncclSuccess;
}

ncclResult_t make_from_id(ncclComm_t* place, int size, const ncclUniqueId& id, int rank, const ncclConfig_t* config) {
  ncclResult_t made = ncclSuccess;
  const ncclResult_t result = guarded([&] {
    check_place(place, rank, size);
    made = make(place, rank, size, settings_of(config, {}), [=] { return meet(id, rank, size); });
  });
  return result == ncclSuccess ? made : result;
}

/// The ranks of one colour, ordered by key.
struct Part {
  std::vector<int> members;
  int rank = 0;
};

Part part_of(const Rendezvous& rendezvous, int color, int key) {
  const std::vector<std::string> all =
      rendezvous.allgather("nccl-split", std::to_string(color) + " " + std::to_string(key));
  std::vector<std::pair<int, int>> chosen;  // key, rank
  for (int rank = 0; rank < rendezvous.size(); ++rank) {
    const std::string& text = all[static_cast<std::size_t>(rank)];
    const std::size_t blank = text.find(' ');
    if (std::stoi(text.substr(0, blank)) == color) chosen.emplace_back(std::stoi(text.substr(blank + 1)), rank);
  }
  std::ranges::sort(chosen);
  Part part;
  for (const auto& [its_key, rank] : chosen) {
    if (rank == rendezvous.rank()) part.rank = static_cast<int>(part.members.size());
    part.members.push_back(rank);
  }
  return part;
}

void split(ncclComm& parent, int color, int key, ncclComm_t* place, const Settings& settings) {
  const Part part = part_of(parent.rendezvous(), color, key);
  if (color < 0) return;
  auto comm = std::make_unique<ncclComm>(part.rank, static_cast<int>(part.members.size()), settings);
  comm->device = parent.device;
  comm->create([&] { return parent.rendezvous().subset(part.members, "nccl-split"); });
  *place = comm.release();
}

}  // namespace
}  // namespace tutti::nccl_adapter

using namespace tutti;
using namespace tutti::nccl_adapter;

extern "C" {

/// Marks this library: the backend that uses NCCL must not take it for NVIDIA's.
extern const int tuttiNcclAdapter;
const int tuttiNcclAdapter = 1;

ncclResult_t ncclGetVersion(int* version) {
  return guarded([&] {
    if (version == nullptr) refuse_argument("the place for the version is a null pointer");
    *version = NCCL_VERSION_CODE;
  });
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return guarded([&] {
    if (id == nullptr) refuse_argument("the place for the unique id is a null pointer");
    *id = make_unique_id();
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return make_from_id(comm, size, id, rank, config);
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return make_from_id(comm, size, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int ids, ncclUniqueId* list,
                                      ncclConfig_t* config) {
  if (ids < 1 || list == nullptr) return guarded([] { refuse_argument("no unique id is given"); });
  return make_from_id(comm, size, list[0], rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  return guarded([&] {
    if (comms == nullptr || count < 1) refuse_argument("no place for a communicator is given");
    const std::vector<Rendezvous> places = local_rendezvous(count);
    std::vector<std::unique_ptr<ncclComm>> made;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank) {
      made.push_back(std::make_unique<ncclComm>(rank, count, Settings{}));
      made.back()->device = devices != nullptr ? devices[rank] : rank;
    }
    for (int rank = 0; rank < count; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      threads.emplace_back([&, index] { (void)guarded([&] { made[index]->create([&] { return places[index]; }); }); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& comm : made) (void)comm->use();
    for (int rank = 0; rank < count; ++rank) comms[rank] = made[static_cast<std::size_t>(rank)].release();
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
  return guarded([&] {
    if (child == nullptr) refuse_argument("the place for the new communicator is a null pointer");
    if (color < NCCL_SPLIT_NOCOLOR) refuse_argument("color " + std::to_string(color) + " is negative");
    ncclComm& parent = ncclComm::of(comm);
    const Settings settings = settings_of(config, parent.settings());
    *child = nullptr;
    create_in_group([&parent, color, key, child, settings] { split(parent, color, key, child, settings); });
  });
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int excluded_count, ncclComm_t* child, ncclConfig_t* config,
                            int flags) {
  return guarded([&] {
    if (child == nullptr || (excluded == nullptr && excluded_count > 0))
      refuse_argument("the list of ranks or the place for the new communicator is a null pointer");
    ncclComm& parent = ncclComm::of(comm);
    std::vector<int> members;
    for (int rank = 0; rank < parent.size(); ++rank) {
      if (std::find(excluded, excluded + excluded_count, rank) == excluded + excluded_count) members.push_back(rank);
    }
    const auto own = std::ranges::find(members, parent.rank());
    if (own == members.end()) refuse_usage("an excluded rank must not call ncclCommShrink()");
    if ((flags & NCCL_SHRINK_ABORT) != 0) parent.revoke();
    (void)make(child, static_cast<int>(own - members.begin()), static_cast<int>(members.size()),
               settings_of(config, parent.settings()),
               [&parent, members] { return parent.rendezvous().subset(members, "nccl-shrink"); });
    (*child)->device = parent.device;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return guarded([&] { ncclComm::of(comm).settle(); });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guarded([&] { delete &ncclComm::of(comm); });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return guarded([&] {
    ncclComm::of(comm).revoke();
    delete &ncclComm::of(comm);
  });
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  return guarded([&] {
    if (flags != NCCL_REVOKE_DEFAULT) refuse_argument("flags of ncclCommRevoke() must be NCCL_REVOKE_DEFAULT");
    ncclComm::of(comm).revoke();
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  return guarded([&] {
    if (state == nullptr) refuse_argument("the place for the error is a null pointer");
    *state = ncclComm::of(comm).state();
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return guarded([&] {
    if (count == nullptr) refuse_argument("the place for the count is a null pointer");
    *count = ncclComm::of(comm).size();
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return guarded([&] {
    if (rank == nullptr) refuse_argument("the place for the rank is a null pointer");
    *rank = ncclComm::of(comm).rank();
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return guarded([&] {
    if (device == nullptr) refuse_argument("the place for the device is a null pointer");
    *device = ncclComm::of(comm).device;
  });
}

const char* ncclGetLastError(ncclComm_t /*comm*/) { return last_error(); }

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled error of the library underneath";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or aborted";
    case ncclInProgress:
      return "operation in progress";
    case ncclTimeout:
      return "timeout";
    case ncclNumResults:
      break;
  }
  return "unknown result code";
}

}  // extern "C"
