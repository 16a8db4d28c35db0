#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::tools {

/// Where a rank runs.
struct RankProcess {
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t threads = 0;  ///< of the process, with those of libraries

  friend bool operator==(const RankProcess&, const RankProcess&) = default;
};

/// The process that calls it.
[[nodiscard]] RankProcess this_process();

/// "HOST PID THREADS", and back; process_from() returns nothing for other texts.
[[nodiscard]] std::string to_text(const RankProcess& process);
[[nodiscard]] std::optional<RankProcess> process_from(std::string_view text);

/// Path of the communication library that this process has loaded for a backend: of "mpi:mpich" libmpich.so or
/// libmpi.so. A backend without such a library is its own: its module, or the core that it is built into.
[[nodiscard]] std::string library_of(std::string_view backend);

}  // namespace tutti::tools
