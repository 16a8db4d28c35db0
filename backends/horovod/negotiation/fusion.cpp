#include "negotiation/fusion.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::horovod {

namespace {

[[nodiscard]] bool can_fuse(const Response& a, const Response& b, const FusionRule& rule) {
  return a.kind == b.kind && a.type == b.type && a.reduction == b.reduction && a.prescale == b.prescale &&
         a.postscale == b.postscale && a.memory == b.memory && (rule.with_groups || a.group == b.group);
}

[[nodiscard]] bool is_fusable(const Response& response) {
  return response.kind == MessageKind::allreduce || response.kind == MessageKind::adasum ||
         response.kind == MessageKind::allgather || response.kind == MessageKind::reducescatter;
}

void append(Response& whole, Response&& part) {
  whole.names.push_back(std::move(part.names.front()));
  whole.counts.push_back(part.counts.front());
  whole.row_counts.insert(whole.row_counts.end(), part.row_counts.begin(), part.row_counts.end());
  whole.sizes.insert(whole.sizes.end(), part.sizes.begin(), part.sizes.end());
}

}  // namespace

std::uint64_t rounded_threshold(std::uint64_t threshold, int local_size, bool is_homogeneous) noexcept {
  if (!is_homogeneous) return threshold;
  constexpr std::uint64_t kAtomicUnit = 64;  // upstream's FUSION_BUFFER_ATOMIC_UNIT
  const std::uint64_t unit = static_cast<std::uint64_t>(local_size) * sizeof(double) * kAtomicUnit;
  return (threshold + unit - 1) / unit * unit;
}

std::vector<Response> fuse(std::vector<Response> responses, const FusionRule& rule) {
  std::vector<Response> fused;
  std::vector<bool> taken(responses.size(), false);
  for (std::size_t i = 0; i < responses.size(); ++i) {
    if (taken[i]) continue;
    Response whole = std::move(responses[i]);
    if (is_fusable(whole)) {
      std::uint64_t bytes = whole.bytes();
      std::uint64_t passed_over = 0;
      for (std::size_t j = i + 1; j < responses.size(); ++j) {
        if (taken[j]) continue;
        const std::uint64_t more = responses[j].bytes();
        if (can_fuse(whole, responses[j], rule) && bytes + more <= rule.threshold) {
          bytes += more;
          append(whole, std::move(responses[j]));
          taken[j] = true;
          continue;
        }
        passed_over += more;
        if (bytes + passed_over > rule.threshold) break;
      }
    }
    fused.push_back(std::move(whole));
  }
  return fused;
}

std::vector<Piece> pieces_of(const Response& response, std::uint64_t bytes, std::uint64_t partition) {
  std::vector<Piece> pieces;
  const std::uint64_t most = bytes / size_of(response.type);
  const bool is_cut = partition > 0 && response.kind == MessageKind::allreduce;
  const std::uint64_t part = is_cut ? std::max<std::uint64_t>(partition / size_of(response.type), 1) : 0;
  bool is_open = false;  // the last piece takes more tensors
  for (std::size_t i = 0; i < response.counts.size(); ++i) {
    const std::uint64_t count = response.elements(i);
    if (is_cut && count > part) {
      for (std::uint64_t first = 0; first < count; first += part)
        pieces.push_back({i, i + 1, std::min(part, count - first), first});
      is_open = false;
      continue;
    }
    if (!is_open || (bytes > 0 && pieces.back().count + count > most)) pieces.push_back({i, i, 0});
    is_open = true;
    pieces.back().end = i + 1;
    pieces.back().count += count;
  }
  return pieces;
}

}  // namespace tutti::horovod
