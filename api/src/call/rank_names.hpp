#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tutti/error.hpp"

/// Names of ranks in errors. Backends count the ranks of their own communicator; a user knows those of the job.
namespace tutti {

/// "ranks 0 and 1 of communicator row are ranks 2 and 5 of the job". `job_ranks`: by rank of the communicator. Empty if
/// the numbers are the same in both.
[[nodiscard]] std::string describe_ranks(std::string_view communicator, std::span<const int> job_ranks);

/// The error with that description at its end, once.
[[nodiscard]] Error with_ranks(const Error& error, const std::string& description);

}  // namespace tutti
