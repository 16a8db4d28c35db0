#include "store/local_store.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "settings/settings.hpp"
#include "store/deadline.hpp"
#include "store/failed_ranks.hpp"
#include "store/wire/store_limits.hpp"
#include "tutti/error.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {
namespace {

class LocalStore final : public Store {
 private:
  struct Entry {
    std::string value;
    std::uint32_t reads;  ///< remaining reads; 0: unlimited
  };

  void do_put(std::string_view key, std::string_view value, std::uint32_t reads) override {
    check_entry(key, value);
    {
      const std::lock_guard lock(mutex_);
      if (!values_.try_emplace(std::string(key), Entry{std::string(value), reads}).second) throw_key_exists(key);
    }
    added_.notify_all();
  }

  std::string do_get(std::string_view key, std::chrono::nanoseconds timeout) override { return get(key, timeout, {}); }

  std::string do_get_from(std::string_view key, std::chrono::nanoseconds timeout, const WaitedRanks& ranks) override {
    std::string members;
    return get(key, timeout, watch_of(ranks, members));
  }

  void do_fail(int rank, std::string_view scope, std::string_view reason) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      failed_.add(rank, 0, scope, "rank " + std::to_string(rank) + " of the job", reason);
    } catch (const std::exception&) {
      return;  // out of memory: the others wait until their time is over
    }
    added_.notify_all();
  }

  std::string get(std::string_view key, std::chrono::nanoseconds timeout, const Watch& watch) {
    check_entry(key, {});
    const Deadline deadline = deadline_after(timeout);
    std::unique_lock lock(mutex_);
    while (true) {
      if (const auto found = values_.find(key); found != values_.end()) {
        const bool is_last = timeout.count() > 0 && found->second.reads > 0 && --found->second.reads == 0;
        return is_last ? std::move(values_.extract(found).mapped().value) : found->second.value;
      }
      if (timeout.count() > 0) {
        if (const FailedRanks::Entry* failed = failed_.first(key, watch)) {
          throw Error(ErrorCode::peer_failure, failed->text);
        }
      }
      if (Clock::now() >= deadline) throw_key_missing(key, format_duration(timeout));
      added_.wait_until(lock, deadline);
    }
  }

  std::mutex mutex_;
  std::condition_variable added_;
  std::map<std::string, Entry, std::less<>> values_;
  FailedRanks failed_;
};

}  // namespace

std::shared_ptr<Store> make_local_store() { return std::make_shared<LocalStore>(); }

void check_entry(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxKeyBytes) {
    throw Error(ErrorCode::invalid_argument, "a key has " + std::to_string(key.size()) +
                                                 " bytes; the job's store accepts 1 to " +
                                                 std::to_string(kMaxKeyBytes));
  }
  if (value.size() > kMaxValueBytes) {
    throw Error(ErrorCode::invalid_argument,
                "the value of '" + printable(key) + "' has " + std::to_string(value.size()) +
                    " bytes; the job's store accepts up to " + std::to_string(kMaxValueBytes));
  }
}

void throw_key_exists(std::string_view key) {
  throw Error(ErrorCode::invalid_usage, "the key '" + printable(key) + "' is in the job's store already");
}

void throw_key_missing(std::string_view key, std::string_view after) {
  throw Error(ErrorCode::timeout,
              "the key '" + printable(key) + "' did not appear in the job's store within " + std::string(after));
}

}  // namespace tutti
