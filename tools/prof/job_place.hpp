#pragma once

#include <functional>
#include <optional>
#include <string>

namespace tutti::tools {

/// Place of this process among the processes that a launcher started.
struct JobPlace {
  int rank = 0;
  int size = 1;              ///< 1: no launcher started this process, or one rank only
  bool spans_hosts = false;  ///< the job has ranks on other hosts
  std::string key;           ///< a word that is the same for all ranks, and different for jobs at the same time
};

/// Reads the place from the variables of launchers (Open MPI, PMI, PMIx, PALS, Slurm, `tutti run`, torchrun). Ranks on
/// one host share the launcher's process as their key, which no other job has; on several hosts the launcher's
/// variables have to do, whose numbers may come again.
[[nodiscard]] JobPlace own_place();

/// A hash of the text, for names of files.
[[nodiscard]] std::string short_hash(const std::string& text);

}  // namespace tutti::tools
