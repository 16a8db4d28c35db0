#include "staging/staging_areas.hpp"

#include <algorithm>

namespace tutti {

namespace {
constexpr std::size_t kMaxAreas = 8;
}

std::shared_ptr<StagingArea> StagingAreas::of(const Stream& stream) {
  const std::uint64_t key = spi::device_runtime(stream.device()).context_key(stream);
  const auto known = std::ranges::find_if(areas_, [&](const auto& kept) { return kept->key() == key; });
  if (known != areas_.end()) return *known;
  if (areas_.size() == kMaxAreas) areas_.erase(areas_.begin());
  return areas_.emplace_back(std::make_shared<StagingArea>(stream));
}

Stream stream_of(const Operation& op) {
  if (!op.stream.is_host()) return op.stream;
  return spi::device_runtime(op.where.device).stream(op.where.device);
}

}  // namespace tutti
