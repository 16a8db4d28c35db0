#include "negotiation/groups.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

namespace tutti::horovod {

namespace {

[[nodiscard]] bool has_groups(const std::vector<Response>& responses) {
  for (const Response& response : responses) {
    if (response.group_size > 0) return true;
  }
  return false;
}

}  // namespace

std::vector<Response> Groups::release(std::vector<Response> cached, std::vector<Response> ready) {
  std::vector<Response> all = std::move(cached);
  all.insert(all.end(), std::make_move_iterator(ready.begin()), std::make_move_iterator(ready.end()));
  if (!has_groups(all)) return all;

  std::map<std::string, std::vector<Response>> members = std::exchange(kept_, {});
  std::vector<Response> released;
  for (Response& response : all) {
    if (response.group_size == 0) {
      released.push_back(std::move(response));
      continue;
    }
    const std::size_t wanted = response.group_size;
    const std::string group = response.group;
    std::vector<Response>& some = members[group];
    some.push_back(std::move(response));
    if (some.size() < wanted) continue;
    released.insert(released.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    members.erase(group);
  }
  for (auto& [group, some] : members) {
    std::erase_if(some, [](const Response& response) { return response.position >= 0; });
    if (!some.empty()) kept_.emplace(group, std::move(some));
  }
  return released;
}

}  // namespace tutti::horovod
