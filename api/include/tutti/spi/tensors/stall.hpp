#pragma once

#include <string_view>

#include "tutti/export.hpp"
#include "tutti/spi/call_progress.hpp"

namespace tutti::spi {

/// Shows `tutti ps` and `tutti doctor` that tensors of a communicator wait for ranks that have not submitted them:
/// "rank 1 has not submitted 'layer1.weight'". An empty text takes it back. `progress`: that of CreateContext; with
/// null nothing happens. `rank`: the first of the missing ranks, in the communicator. One caller at a time.
TUTTI_API void show_stall(const CallProgress* progress, std::string_view text, int rank) noexcept;

}  // namespace tutti::spi
