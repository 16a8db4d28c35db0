#pragma once

#include <vector>

#include "record/record_reader.hpp"

namespace tutti::replay {

/// Gives every receive the count and type of the message that it got: a program may offer more room than the message
/// needs, and describe it by another type. Messages of one sender, communicator and tag arrive in the order of the
/// sends.
void match_receives(std::vector<RecordPart>& parts);

}  // namespace tutti::replay
