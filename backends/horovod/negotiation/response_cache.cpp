#include "negotiation/response_cache.hpp"

#include <algorithm>

namespace tutti::horovod {

bool ResponseCache::fits(const Response& response, const Request& request) const {
  const bool same = response.kind == request.kind && response.type == request.type &&
                    response.reduction == request.reduction && response.op == request.op &&
                    response.root == request.root && response.prescale == request.prescale &&
                    response.postscale == request.postscale && response.group_size == request.group_size &&
                    response.asked_priority == request.priority && response.memory == request.memory &&
                    response.group == request.group && response.shape.size() == request.shape.size();
  if (!same) return false;
  if (response.kind != MessageKind::allgather) return response.shape == request.shape;
  return request.shape.front() == response.sizes[static_cast<std::size_t>(rank_)] &&
         std::equal(request.shape.begin() + 1, request.shape.end(), response.shape.begin() + 1);
}

ResponseCache::Found ResponseCache::find(const Request& request) const {
  const auto known = by_name_.find(request.name);
  if (known == by_name_.end()) return {};
  const std::uint32_t position = known->second;
  return {fits(at(position), request) ? State::hit : State::invalid, position};
}

void ResponseCache::put(const Response& response) {
  if (capacity_ == 0) return;
  const std::string& name = response.names.front();
  if (const auto known = by_name_.find(name); known != by_name_.end()) erase(known->second);
  if (by_name_.size() >= capacity_) erase(uses_.back());
  std::uint32_t position = 0;
  if (free_.empty()) {
    position = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    position = free_.back();
    free_.pop_back();
  }
  uses_.push_front(position);
  slots_[position] = {response, uses_.begin()};
  by_name_.emplace(name, position);
}

void ResponseCache::touch(std::uint32_t position) { uses_.splice(uses_.begin(), uses_, slots_[position].use); }

void ResponseCache::erase(std::uint32_t position) {
  Slot& slot = slots_[position];
  by_name_.erase(slot.response->names.front());
  uses_.erase(slot.use);
  slot.response.reset();
  free_.push_back(position);
  ++erasures_;
}

void ResponseCache::clear() {
  while (!uses_.empty()) erase(uses_.back());
}

}  // namespace tutti::horovod
