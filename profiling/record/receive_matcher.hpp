#pragma once

#include <vector>

#include "record/record_reader.hpp"

namespace tutti::replay {

/// Gives the receives from any rank, or of any tag, the rank and tag of the message that they got. A part ends before
/// the first one of which that is not known.
void resolve_receives(RecordPart& part);

/// Gives every receive the count and type of the message that it got: a program may offer more room than the message
/// needs, and describe it by another type. Messages of one sender, communicator and tag arrive in the order of the
/// sends.
void match_receives(std::vector<RecordPart>& parts);

}  // namespace tutti::replay
