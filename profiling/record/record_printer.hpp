#pragma once

#include <string>

#include "record/record.hpp"

namespace tutti::replay {

/// The record as a file: read_record() of it gives the same. Operations that occur more than once are defined at the
/// top and named by number.
[[nodiscard]] std::string to_text(const JobRecord& record);

}  // namespace tutti::replay
