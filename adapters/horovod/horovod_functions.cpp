// The C functions, which Python calls through ctypes.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "horovod/common/operations.h"
#include "job.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"

namespace horovod {
namespace common {

using tutti::horovod::Engine;
using tutti::horovod_adapter::Job;

namespace {

/// `call(engine)`, or `otherwise` while there is no engine.
template <typename Result, typename Call>
Result with_engine(Result otherwise, const Call& call) noexcept {
  const Job::Use use(Job::instance());
  if (use.engine() == nullptr) return otherwise;
  try {
    return call(*use.engine());
  } catch (const std::exception&) {
    return otherwise;
  }
}

template <typename Call>
int ask(const Call& call) noexcept {
  return with_engine(-1, call);
}

bool has_set(const Engine& engine, int id) {
  const std::vector<int> ids = engine.process_sets();
  return std::ranges::find(ids, id) != ids.end();
}

/// `call(engine, ranks)` for a process set that exists.
template <typename Call>
int ask_set(int id, const Call& call) noexcept {
  return with_engine(HOROVOD_PROCESS_SET_ERROR_INIT, [&](const Engine& engine) {
    if (!has_set(engine, id)) return HOROVOD_PROCESS_SET_ERROR_UNKNOWN_SET;
    return static_cast<int>(call(engine, engine.process_set_ranks(id)));
  });
}

/// Upstream reports errors of functions without a text in its log.
void print_error(const char* function, const std::exception& error) noexcept {
  std::fprintf(stderr, "tutti: %s: %s\n", function, error.what());
}

/// Adds or removes a process set; the threads of a rank must not do so at the same time.
template <typename Call>
int change_sets(const char* function, const Call& call) noexcept {
  static std::mutex mutex;
  const std::scoped_lock one(mutex);
  const Job::Use use(Job::instance());
  if (use.engine() == nullptr) return HOROVOD_PROCESS_SET_ERROR_INIT;
  if (!Job::instance().has_dynamic_sets()) return HOROVOD_PROCESS_SET_ERROR_DYNAMIC;
  try {
    return call(*use.engine());
  } catch (const tutti::Error& error) {
    print_error(function, error);
    return error.code() == tutti::ErrorCode::invalid_argument ? HOROVOD_PROCESS_SET_ERROR_UNKNOWN_SET
                                                              : HOROVOD_PROCESS_SET_ERROR_SHUTDOWN;
  } catch (const std::exception& error) {
    print_error(function, error);
    return HOROVOD_PROCESS_SET_ERROR_SHUTDOWN;
  }
}

}  // namespace

Status CheckInitialized() { return horovod_is_initialized() != 0 ? Status::OK() : NOT_INITIALIZED_ERROR; }

extern "C" {

const int HOROVOD_PROCESS_SET_ERROR_INIT = -1;
const int HOROVOD_PROCESS_SET_ERROR_DYNAMIC = -2;
const int HOROVOD_PROCESS_SET_ERROR_UNKNOWN_SET = -3;
const int HOROVOD_PROCESS_SET_ERROR_FOREIGN_SET = -4;
const int HOROVOD_PROCESS_SET_ERROR_SHUTDOWN = -5;
const int HOROVOD_PROCESS_SET_ERROR_EXISTING_SET = -6;

bool horovod_init(const int* ranks, int nranks, const int* process_set_ranks, const int* process_set_sizes,
                  int num_process_sets) {
  try {
    std::vector<std::vector<int>> sets;
    for (int set = 0; set < num_process_sets; ++set) {
      sets.emplace_back(process_set_ranks, process_set_ranks + process_set_sizes[set]);
      process_set_ranks += process_set_sizes[set];
    }
    const bool is_part = ranks != nullptr && nranks > 0;
    Job::instance().begin({ranks, is_part ? static_cast<std::size_t>(nranks) : 0}, sets);
    return true;
  } catch (const std::exception& error) {
    print_error("horovod_init", error);
    return false;
  }
}

void horovod_shutdown() {
  try {
    Job::instance().end();
  } catch (const std::exception& error) {
    print_error("horovod_shutdown", error);
  }
}

int horovod_is_initialized() {
  return with_engine(0, [](const Engine&) { return 1; });
}

int horovod_rank() {
  return ask([](const Engine& engine) { return engine.rank(); });
}
int horovod_local_rank() {
  return ask([](const Engine& engine) { return engine.local_rank(); });
}
int horovod_cross_rank() {
  return ask([](const Engine& engine) { return engine.cross_rank(); });
}
int horovod_size() {
  return ask([](const Engine& engine) { return engine.size(); });
}
int horovod_local_size() {
  return ask([](const Engine& engine) { return engine.local_size(); });
}
int horovod_cross_size() {
  return ask([](const Engine& engine) { return engine.cross_size(); });
}
/// The engine is not MPI's, whichever threads the program uses.
int horovod_mpi_threads_supported() {
  return ask([](const Engine&) { return 0; });
}
bool horovod_is_homogeneous() {
  return with_engine(false, [](const Engine& engine) { return engine.is_homogeneous(); });
}

int horovod_start_timeline(const char* file_name, bool mark_cycles) {
  return ask([&](const Engine& engine) {
    if (!Job::instance().has_timeline()) return -2;
    try {
      engine.start_timeline(file_name, mark_cycles);
    } catch (const std::exception& error) {
      print_error("horovod_start_timeline", error);  // a file that cannot be written; upstream goes on, too
    }
    return 1;
  });
}

int horovod_stop_timeline() {
  return ask([](const Engine& engine) {
    try {
      engine.stop_timeline();
    } catch (const std::exception& error) {
      print_error("horovod_stop_timeline", error);
    }
    return 1;
  });
}

bool horovod_mpi_enabled() { return false; }
bool horovod_mpi_built() { return false; }
bool horovod_gloo_enabled() { return false; }
bool horovod_gloo_built() { return false; }
int horovod_nccl_built() { return 0; }
bool horovod_ddl_built() { return false; }
bool horovod_ccl_built() {
  try {
    const std::vector<tutti::BackendInfo> all = tutti::unprobed_backends();
    return std::ranges::any_of(all, [](const auto& backend) { return backend.name == "ccl" && backend.module; });
  } catch (const std::exception&) {
    return false;
  }
}
bool horovod_cuda_built() { return false; }
bool horovod_rocm_built() { return false; }

int horovod_reduce_op_average() { return AVERAGE; }
int horovod_reduce_op_sum() { return SUM; }
int horovod_reduce_op_adasum() { return ADASUM; }
int horovod_reduce_op_min() { return MIN; }
int horovod_reduce_op_max() { return MAX; }
int horovod_reduce_op_product() { return PRODUCT; }

int horovod_add_process_set(const int* ranks, int nranks) {
  return change_sets("horovod_add_process_set", [&](const Engine& engine) {
    const std::vector<int> members(ranks, ranks + nranks);
    if (tutti::horovod_adapter::find_process_set(engine, members) >= 0) return HOROVOD_PROCESS_SET_ERROR_EXISTING_SET;
    return engine.add_process_set(members);
  });
}

int horovod_remove_process_set(int process_set_id) {
  return change_sets("horovod_remove_process_set", [&](const Engine& engine) {
    if (!has_set(engine, process_set_id)) return HOROVOD_PROCESS_SET_ERROR_UNKNOWN_SET;
    engine.remove_process_set(process_set_id);
    return process_set_id;
  });
}

int horovod_process_set_rank(int process_set_id) {
  return ask_set(process_set_id, [](const Engine& engine, const std::vector<int>& ranks) {
    const auto own = std::ranges::find(ranks, engine.rank());
    if (own == ranks.end()) return HOROVOD_PROCESS_SET_ERROR_FOREIGN_SET;
    return static_cast<int>(own - ranks.begin());
  });
}

int horovod_process_set_size(int process_set_id) {
  return ask_set(process_set_id, [](const Engine&, const std::vector<int>& ranks) { return ranks.size(); });
}

int horovod_process_set_included(int process_set_id) {
  return ask_set(process_set_id, [](const Engine& engine, const std::vector<int>& ranks) {
    return std::ranges::find(ranks, engine.rank()) != ranks.end();
  });
}

int horovod_number_of_process_sets() {
  return with_engine(0, [](const Engine& engine) { return static_cast<int>(engine.process_sets().size()); });
}

void horovod_process_set_ids(int* ids_prealloc) {
  (void)ask([&](const Engine& engine) {
    std::ranges::copy(engine.process_sets(), ids_prealloc);
    return 0;
  });
}

int horovod_process_set_ranks(int id, int* ranks_prealloc) {
  return ask_set(id, [&](const Engine&, const std::vector<int>& ranks) {
    std::ranges::copy(ranks, ranks_prealloc);
    return 0;
  });
}

}  // extern "C"

}  // namespace common
}  // namespace horovod
