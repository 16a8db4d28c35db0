#pragma once

#include <string_view>
#include <vector>

namespace tutti::test::campaign {

/// Ranks of the communicator that the message of an error holds responsible: "rank 3 died", "ranks 1 and 2 have not
/// entered". If it has no such phrase, all ranks that it mentions. The rank on which the error occurred ("on rank 1 of
/// 4") and the translation of split ranks at the end do not count.
[[nodiscard]] std::vector<int> named_ranks(std::string_view message);

/// The same as ranks of the job: a message of a split communicator ends with its ranks in the job.
[[nodiscard]] std::vector<int> named_in_job(std::string_view message);

}  // namespace tutti::test::campaign
