#include "negotiation/controller.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

namespace tutti::horovod {

namespace {

constexpr std::size_t kWordBits = 64;

}  // namespace

Controller::Controller(const Options& options)
    : options_(options),
      parameters_(options.parameters),
      cache_(options.cache_capacity, options.rank),
      table_(options.size) {}

FusionRule Controller::fusion_rule() const noexcept {
  std::uint64_t threshold =
      rounded_threshold(parameters_.fusion_threshold, options_.local_size, options_.is_homogeneous);
  // Tensors that are fused cannot be overtaken by one between them.
  if (parameters_.partition > 0) threshold = std::min(threshold, parameters_.partition);
  return {.threshold = threshold, .with_groups = options_.fuses_groups};
}

void Controller::adopt(const Parameters& parameters) {
  if (!parameters.cache) cache_.clear();
  parameters_ = parameters;
}

std::vector<Response> Controller::common_hits(std::span<const RoundMessage> messages) const {
  std::vector<Response> hits;
  if (table_.joined() == options_.size) return hits;
  const std::size_t words = (cache_.positions() + kWordBits - 1) / kWordBits;
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t common = ~std::uint64_t{0};
    for (std::size_t rank = 0; rank < messages.size() && common != 0; ++rank) {
      if (table_.is_joined(static_cast<int>(rank))) continue;  // it has every tensor, with zeros
      common &= word < messages[rank].hits.size() ? messages[rank].hits[word] : 0;
    }
    for (; common != 0; common &= common - 1) {
      const auto position =
          static_cast<std::uint32_t>(word * kWordBits + static_cast<std::size_t>(std::countr_zero(common)));
      if (!cache_.is_used(position)) continue;  // found invalid in this round
      Response& hit = hits.emplace_back(cache_.at(position));
      hit.position = position;
      hit.has_joined = table_.joined() > 0;
    }
  }
  return hits;
}

void Controller::remember(const std::vector<Response>& responses) {
  for (const Response& response : responses) {
    if (response.position >= 0) cache_.touch(static_cast<std::uint32_t>(response.position));
  }
  if (!parameters_.cache) return;
  for (const Response& response : responses) {
    if (response.position < 0 && response.cacheable && response.kind != MessageKind::error) cache_.put(response);
  }
}

/// In backward order the gradients of the first layers come last and are needed first.
void Controller::put_urgent_first(std::vector<Response>& responses) {
  bool is_ordered = true;
  for (Response& response : responses) {
    if (response.kind == MessageKind::error) response.priority = std::numeric_limits<std::int32_t>::max();
    if (options_.layers_first && response.position < 0 && response.cacheable && response.asked_priority == 0 &&
        response.kind == MessageKind::allreduce) {
      const auto next = static_cast<std::int32_t>(layers_.size() + 1);
      response.priority = layers_.try_emplace(response.names.front(), next).first->second;
    }
    is_ordered &= response.priority == responses.front().priority;
  }
  if (is_ordered) return;
  std::ranges::stable_sort(responses, std::greater{}, &Response::priority);
}

Controller::Decision Controller::decide(std::span<RoundMessage> messages) {
  Decision decision;
  for (const RoundMessage& message : messages) {
    decision.shutdown |= message.shutdown;
    for (const std::uint32_t position : message.invalid) {
      if (cache_.is_used(position)) cache_.erase(position);
    }
  }
  if (decision.shutdown) return decision;

  std::vector<Response> cached = common_hits(messages);
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    for (Request& request : messages[rank].received) {
      if (request.kind == MessageKind::join) {
        table_.join(static_cast<int>(rank));
      } else {
        table_.add(static_cast<int>(rank), std::move(request));
      }
    }
  }
  std::vector<Response> single = groups_.release(std::move(cached), table_.take_complete());
  put_urgent_first(single);
  remember(single);
  decision.responses = fuse(std::move(single), fusion_rule());
  if (table_.joined() == options_.size) {
    Response all_joined;
    all_joined.kind = MessageKind::join;
    all_joined.last_joined = table_.take_joined();
    all_joined.priority = std::numeric_limits<std::int32_t>::min();  // all tensors are complete then
    decision.responses.push_back(std::move(all_joined));
  }
  if (messages.front().has_parameters) adopt(messages.front().parameters);
  return decision;
}

}  // namespace tutti::horovod
