// Beginning and end of the adapter, with those of MPI.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapter.hpp"
#include "base/mpi/pmpi.hpp"
#include "progress.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::adapters::mpi {

[[gnu::visibility("hidden")]] Rules rules;
/// Whether all ranks have MPI_THREAD_MULTIPLE, which non-blocking calls need.
[[gnu::visibility("hidden")]] bool may_issue = false;

namespace {

namespace pmpi = mpi_table::pmpi;
constinit mpi_table::Pmpi allgather{"PMPI_Allgather"};
constinit mpi_table::Pmpi query_thread{"PMPI_Query_thread"};

struct World {
  int rank = 0;
  int size = 1;
};
World world;

/// Number of processes that a launcher says it started; 0 without.
int launched(const char* variable) {
  const std::optional<std::string> text = spi::environment(variable);
  return text && text->size() < 9 && text->find_first_not_of("0123456789") == std::string::npos && !text->empty()
             ? std::stoi(*text)
             : 0;
}

/// Reason why the adapter stays out of the way, or empty. Local.
std::string find_obstacle() {
  const bool is_open_mpi = mpi_table::address_of("ompi_mpi_comm_world") != 0;
  if (is_open_mpi && mpi_table::address_of("MPIR_Err_create_code") != 0)
    return "two MPI libraries are in this process, Open MPI and one with the ABI of MPICH";
  if (!is_open_mpi && mpi_table::abi().wide_handles)
    return "the program uses the standard ABI of MPI 5, which the adapter does not serve";
  return {};
}

/// A program whose MPI does not belong to the launcher runs as many jobs of one rank.
void check_launcher() {
  if (world.size != 1) return;
  const bool is_open_mpi = mpi_table::abi().wide_handles;
  const int ranks = launched(is_open_mpi ? "PMI_SIZE" : "OMPI_COMM_WORLD_SIZE");
  if (ranks > 1) {
    complain("the launcher started " + std::to_string(ranks) + " processes, but the program's MPI (" +
             (is_open_mpi ? "Open MPI" : "MPICH or Intel MPI") +
             ") is not the launcher's: each of them is a job of one rank; use the mpirun of the program's MPI");
  }
}

/// Whether `mine` is equal on all ranks. Collective.
bool is_equal_everywhere(std::uint64_t mine) {
  if (world.size == 1) return true;
  constexpr int kBytes = sizeof mine;
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(world.size));
  if (!allgather(&mine, kBytes, byte_type(), keys.data(), kBytes, byte_type(), mpi_table::abi().comm_world))
    return false;
  return std::ranges::all_of(keys, [&](std::uint64_t key) { return key == keys.front(); });
}

/// Takes the sizes from the tuning file if all ranks have the same one, as `auto` does. Collective.
void adopt_tuning() {
  if (!rules.wants_table()) return;
  std::array<char, 8192> version{};  // MPI_MAX_LIBRARY_VERSION_STRING of all MPIs is at most this
  int length = 0;
  std::optional<TunedGains> gains;
  try {
    if (pmpi::get_library_version(version.data(), &length)) {
      rules.set_library(version.data());
      gains = TunedGains::load(Config(), version.data());
    }
  } catch (const std::exception&) {
    gains.reset();  // a rank without a table: all do without one
  }
  const bool is_common = is_equal_everywhere(gains ? gains->key() : 0);
  if (gains && is_common) rules.adopt(std::move(*gains));
}

/// Collective.
bool has_threads_everywhere() {
  constexpr int kMultiple = 3;  // MPI_THREAD_MULTIPLE
  int level = 0;
  const bool is_mine = query_thread(&level) && level == kMultiple;
  return is_equal_everywhere(is_mine ? 1 : 0) && is_mine;
}

std::uint32_t bits_of(const Rules& chosen) {
  std::uint32_t bits = chosen.shows() ? kCounting : 0;
  for (std::size_t kind = 0; kind < kOpKindCount; ++kind)
    if (chosen.may_take(static_cast<OpKind>(kind))) bits |= 1U << kind;
  return bits;
}

/// MPI libraries write jumps into functions that stand in front of munmap(); then mappings are shared no more.
void check_shared_mappings() {
  static constinit RealFunction<void (*)()> check{"tutti_check_shared_mappings"};
  if (const auto function = check.get()) function();
}

void start() {
  check_shared_mappings();
  const std::string obstacle = find_obstacle();
  if (!obstacle.empty()) return complain(obstacle + "; all calls go to MPI");
  learn_handles();
  (void)pmpi::comm_rank(mpi_table::abi().comm_world, &world.rank);
  (void)pmpi::comm_size(mpi_table::abi().comm_world, &world.size);
  check_launcher();
  try {
    rules = Rules(Config());
  } catch (const std::exception& error) {
    // The other ranks have the same environment, or learn of the difference below.
    if (world.rank == 0) complain(std::string(error.what()) + "; all calls go to MPI");
    rules = Rules();
  }
  if (!is_equal_everywhere(rules.key())) {
    if (world.rank == 0)
      complain("the ranks have different settings TUTTI_PRELOAD*, TUTTI_SHOW or TUTTI_BACKEND; all calls go to MPI");
    return;
  }
  adopt_tuning();
  const std::uint32_t bits = bits_of(rules);
  if (bits == 0) return;
  may_issue = has_threads_everywhere();
  prepare_progress();
  is_counting.store(rules.shows(), std::memory_order_relaxed);
  attention.store(bits, std::memory_order_relaxed);
}

}  // namespace

void begin() noexcept {
  static std::atomic<bool> has_begun = false;
  if (has_begun.exchange(true)) return;  // MPI_Init of C, called by that of Fortran
  try {
    start();
  } catch (const std::exception& error) {
    complain(error.what());
  }
}

void end() noexcept {
  if (attention.exchange(0) == 0) return;
  try {
    if (rules.shows() && world.rank == 0)
      std::fputs(report_text(serving_backend(), rules.describe_sizes()).c_str(), stderr);
  } catch (const std::exception& error) {
    complain(error.what());
  }
  forget_groups();
  end_progress();
}

}  // namespace tutti::adapters::mpi
