#include "engine/tensor_queue.hpp"

#include <utility>

#include "tutti/spi/printable.hpp"

namespace tutti::horovod {

void TensorQueue::add(std::span<const EntryPointer> entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i]->request.name;
    if (by_name_.emplace(name, entries[i]).second) continue;
    for (std::size_t j = 0; j < i; ++j) by_name_.erase(entries[j]->request.name);
    throw Error(ErrorCode::invalid_argument,
                "Requested to allreduce, allgather, or broadcast a tensor with the same name as another tensor that is "
                "currently being processed.  If you want to request another tensor, use a different tensor name. "
                "(The name is '" +
                    spi::printable(name) + "'.)",
                "horovod");
  }
  for (const EntryPointer& entry : entries) {
    new_.push_back(entry);
    new_bytes_ += entry->operation.block_bytes();
  }
}

std::vector<EntryPointer> TensorQueue::take_new() {
  new_bytes_ = 0;
  return std::exchange(new_, {});
}

EntryPointer TensorQueue::find(const std::string& name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

EntryPointer TensorQueue::take(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  EntryPointer entry = std::move(found->second);
  by_name_.erase(found);
  return entry;
}

std::vector<EntryPointer> TensorQueue::take_all() {
  std::vector<EntryPointer> all;
  all.reserve(by_name_.size());
  for (auto& [name, entry] : by_name_) all.push_back(std::move(entry));
  by_name_.clear();
  new_.clear();
  new_bytes_ = 0;
  return all;
}

std::set<std::string> TensorQueue::names() const {
  std::set<std::string> names;
  for (const auto& [name, entry] : by_name_) names.insert(name);
  return names;
}

}  // namespace tutti::horovod
