#include "profiling/mpi/mpi_session.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

namespace tutti::test {

std::map<int, CallCounts> recorded_calls(const profiling::Profile& profile) {
  std::map<int, CallCounts> calls;
  for (const auto& row : profile.rows) {
    if (row.kind != profiling::Kind::host || row.source < 0 ||
        profile.sources[static_cast<std::size_t>(row.source)].title != "BACKEND_MPI")
      continue;
    const int rank = profile.processes[static_cast<std::size_t>(row.process)].rank;
    CallCount& count = calls[rank][row.name];
    count.calls += row.statistics.calls;
    count.errors += row.statistics.errors;
    count.bytes += row.statistics.bytes;
  }
  return calls;
}

CallCounts counted_calls(const std::filesystem::path& file, bool with_idle) {
  CallCounts counts;
  std::ifstream lines(file);
  std::string name;
  CallCount count;
  std::uint64_t idle = 0;
  while (lines >> name >> count.calls >> count.errors >> count.bytes >> idle) {
    if (!with_idle) count.calls -= idle;
    if (count.calls > 0) counts[name] = count;
  }
  return counts;
}

std::string differences(const CallCounts& recorded, const CallCounts& counted, bool all) {
  std::set<std::string> names;
  for (const auto& [name, count] : counted) names.insert(name);
  if (all)
    for (const auto& [name, count] : recorded) names.insert(name);
  std::ostringstream text;
  const auto show = [&](const CallCounts& counts, const std::string& name) {
    const auto found = counts.find(name);
    if (found == counts.end()) return std::string("none");
    const CallCount& count = found->second;
    return std::to_string(count.calls) + " calls, " + std::to_string(count.errors) + " errors, " +
           std::to_string(count.bytes) + " bytes";
  };
  for (const auto& name : names) {
    const std::string left = show(recorded, name);
    const std::string right = show(counted, name);
    if (left != right) text << name << ": recorded " << left << "; counted " << right << '\n';
  }
  return text.str();
}

std::string faults_of_operations(const profiling::Profile& profile) {
  struct Operations {
    int size = 0;
    std::map<int, std::map<std::uint64_t, std::string>> by_rank;
  };
  std::map<std::uint64_t, Operations> communicators;
  std::ostringstream faults;
  for (const auto& event : profile.events) {
    if (event.kind != profiling::Kind::operation || event.communicator < 0) continue;
    const auto& row = profile.communicators[static_cast<std::size_t>(event.communicator)];
    Operations& operations = communicators[row.key];
    operations.size = row.size;
    if (!operations.by_rank[row.rank].emplace(event.sequence, profile.names[event.name]).second)
      faults << "rank " << row.rank << " has two operations " << event.sequence << " on communicator " << row.key
             << '\n';
  }
  if (communicators.empty()) faults << "no operation has a communicator\n";
  for (const auto& [key, operations] : communicators) {
    if (operations.by_rank.size() != static_cast<std::size_t>(operations.size))
      faults << "communicator " << key << " of " << operations.size << " ranks is known to "
             << operations.by_rank.size() << '\n';
    for (const auto& [rank, names] : operations.by_rank)
      if (names != operations.by_rank.begin()->second)
        faults << "rank " << rank << " has other operations on communicator " << key << '\n';
  }
  return faults.str();
}

std::vector<MpiKit> mpi_kits() {
  std::vector<MpiKit> kits;
#ifdef TUTTI_TEST_OPENMPI_PROGRAMS
  kits.push_back({"openmpi",
                  {"mpirun.openmpi"},
                  TUTTI_TEST_OPENMPI_PROGRAMS,
                  {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                   {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                   {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                   {"OMPI_MCA_mpi_yield_when_idle", "1"}}});
#endif
#ifdef TUTTI_TEST_MPICH_PROGRAMS
  kits.push_back({"mpich", {"mpirun.mpich", "-launcher", "fork"}, TUTTI_TEST_MPICH_PROGRAMS, {}});
#endif
#ifdef TUTTI_TEST_INTEL_PROGRAMS
  const std::string root = TUTTI_TEST_INTEL_ROOT;
  kits.push_back({"intel",
                  {root + "/bin/mpiexec.hydra", "-bootstrap", "fork"},
                  TUTTI_TEST_INTEL_PROGRAMS,
                  {{"I_MPI_ROOT", root},
                   {"I_MPI_PIN", "0"},
                   {"I_MPI_FABRICS", "shm"},
                   {"FI_PROVIDER_PATH", root + "/lib"},
                   {"LD_LIBRARY_PATH", root + "/lib"}}});
#endif
  return kits;
}

std::string mpi_preload(const MpiKit& kit, const std::string& counter) {
  std::string libraries = TUTTI_TEST_SOURCES "/libtutti_source_mpi.so";
  if (kit.name != "openmpi")
    libraries += ":" TUTTI_TEST_SOURCES "/libtutti_source_mpi_4.so:" TUTTI_TEST_SOURCES "/libtutti_source_mpi_large.so";
  return counter.empty() ? libraries : libraries + ":" + counter;
}

CommandResult run_profiled(const MpiKit& kit, int ranks, const std::vector<std::string>& command,
                           const std::map<std::string, std::string>& environment, std::chrono::seconds limit) {
  std::vector<std::string> line = kit.launcher;
  line.insert(line.end(), {"-n", std::to_string(ranks), "env"});
  // Set by env and not for the launcher, which is not profiled.
  for (const auto& [name, value] : environment) line.push_back(name + "=" + value);
  line.insert(line.end(), command.begin(), command.end());
  return run_command(line, kit.environment, limit);
}

}  // namespace tutti::test
