#include "store/store_table.hpp"

namespace tutti {
namespace {

// Far above the needs of a job's setup; keeps a runaway rank from using up the host's memory.
constexpr std::size_t kMaxStoreBytes = std::size_t{1} << 30;

}  // namespace

void StoreTable::put(Client& client, std::uint64_t id, std::string_view key, std::string_view value,
                     std::uint32_t reads) {
  if (values_.find(key) != values_.end()) return client.answer(Outcome::exists, id, nullptr);
  if (bytes_ + key.size() + value.size() > kMaxStoreBytes) return client.answer(Outcome::full, id, nullptr);
  const auto kept = std::make_shared<const std::string>(value);
  const auto entry = values_.try_emplace(std::string(key), Entry{kept, reads}).first;
  bytes_ += key.size() + value.size();
  client.answer(Outcome::ok, id, nullptr);
  for (auto waiter = waiters_.find(key); waiter != waiters_.end(); waiter = waiters_.find(key)) {
    Client* const who = waiter->second.client;
    const std::uint64_t request = waiter->second.id;
    remove(waiter);
    who->answer(Outcome::ok, request, kept);
    if (!count_read(entry)) return;
  }
}

void StoreTable::get(Client& client, std::uint64_t id, std::string_view key, std::chrono::nanoseconds timeout,
                     const Watch& watch) {
  if (const auto found = values_.find(key); found != values_.end()) {
    client.answer(Outcome::ok, id, found->second.value);
    if (timeout.count() > 0) (void)count_read(found);
    return;
  }
  if (timeout.count() <= 0) return client.answer(Outcome::missing, id, nullptr);
  if (const std::optional<std::string> ended = members_.ended(watch, client.generation(), key)) {
    return client.answer(Outcome::ended, id, std::make_shared<const std::string>(*ended));
  }
  const Deadline deadline = deadline_after(timeout);
  const auto waiter =
      waiters_.emplace(std::string(key), Waiter{&client, id, timers_.end(), watch.giver, std::string(watch.members)});
  if (deadline != Deadline::max()) waiter->second.timer = timers_.emplace(deadline, waiter);
}

void StoreTable::forget(const Client& client) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const auto next = std::next(waiter);
    if (waiter->second.client == &client) remove(waiter);
    waiter = next;
  }
}

void StoreTable::end_waits() {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    const auto next = std::next(waiter);
    const Waiter& wait = waiter->second;
    const Watch watch{.giver = wait.giver, .members = wait.members};
    if (const std::optional<std::string> ended = members_.ended(watch, wait.client->generation(), waiter->first)) {
      Client* const who = wait.client;
      const std::uint64_t request = wait.id;
      remove(waiter);
      who->answer(Outcome::ended, request, std::make_shared<const std::string>(*ended));
    }
    waiter = next;
  }
}

void StoreTable::expire(Deadline now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto waiter = timers_.begin()->second;
    Client* const who = waiter->second.client;
    const std::uint64_t request = waiter->second.id;
    remove(waiter);
    who->answer(Outcome::missing, request, nullptr);
  }
}

Deadline StoreTable::next_deadline() const noexcept {
  return timers_.empty() ? Deadline::max() : timers_.begin()->first;
}

bool StoreTable::count_read(Values::iterator entry) {
  if (entry->second.reads == 0 || --entry->second.reads > 0) return true;
  bytes_ -= entry->first.size() + entry->second.value->size();
  values_.erase(entry);
  return false;
}

void StoreTable::remove(Waiters::iterator waiter) {
  if (waiter->second.timer != timers_.end()) timers_.erase(waiter->second.timer);
  waiters_.erase(waiter);
}

}  // namespace tutti
