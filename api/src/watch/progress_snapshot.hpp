#pragma once

#include <optional>

#include "tutti/info/progress.hpp"
#include "watch/progress_slot.hpp"

namespace tutti::detail {

/// Reads a slot, of this process or of another one. Values that make no sense become ones that do, so that a slot of a
/// stranger can do no harm. Nothing for a slot that is free or has been taken again since `generation` (0: any).
[[nodiscard]] std::optional<ProgressSnapshot> read_slot(const ProgressSlot& slot, std::uint32_t generation) noexcept;

/// The same with the texts.
[[nodiscard]] std::optional<CommunicatorProgress> read_whole_slot(const ProgressSlot& slot);

}  // namespace tutti::detail
