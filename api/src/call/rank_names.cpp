#include "call/rank_names.hpp"

#include <algorithm>

namespace tutti {
namespace {

// A list of more ranks is shortened: the message has to stay readable.
constexpr std::size_t kMostListed = 64;

bool is_identity(std::span<const int> job_ranks) {
  for (std::size_t rank = 0; rank < job_ranks.size(); ++rank) {
    if (job_ranks[rank] != static_cast<int>(rank)) return false;
  }
  return true;
}

/// Whether consecutive ranks are `step` apart, as in rows and columns of a grid.
bool is_regular(std::span<const int> job_ranks, int step) {
  return std::ranges::adjacent_find(job_ranks, [&](int a, int b) { return b - a != step; }) == job_ranks.end();
}

std::string listed(std::span<const int> job_ranks) {
  std::string text;
  for (std::size_t rank = 0; rank < std::min(job_ranks.size(), kMostListed); ++rank) {
    const bool is_last = rank + 1 == job_ranks.size();
    text += (rank == 0 ? "" : is_last ? " and " : ", ") + std::to_string(job_ranks[rank]);
  }
  return job_ranks.size() > kMostListed ? text + ", ..." : text;
}

}  // namespace

std::string describe_ranks(std::string_view communicator, std::span<const int> job_ranks) {
  if (job_ranks.empty() || is_identity(job_ranks)) return {};
  const std::string of = " of communicator " + std::string(communicator);
  const std::string last = std::to_string(job_ranks.size() - 1);
  if (job_ranks.size() == 1) return "rank 0" + of + " is rank " + std::to_string(job_ranks[0]) + " of the job";
  if (const int step = job_ranks[1] - job_ranks[0]; job_ranks.size() > 3 && is_regular(job_ranks, step)) {
    const std::string steps = step == 1 ? "" : " in steps of " + std::to_string(step);
    return "ranks 0 to " + last + of + " are ranks " + std::to_string(job_ranks.front()) + " to " +
           std::to_string(job_ranks.back()) + steps + " of the job";
  }
  return "ranks 0 " + std::string(job_ranks.size() == 2 ? "and " : "to ") + last + of + " are ranks " +
         listed(job_ranks) + " of the job";
}

Error with_ranks(const Error& error, const std::string& description) {
  const std::string text = error.what();
  if (description.empty() || text.ends_with(description)) return error;
  return {error.code(), text + "; " + description, error.backend(), error.vendor_code()};
}

}  // namespace tutti
