#include "creation/ccl_closing.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

namespace tutti::ccl {
namespace {

constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::microseconds kLongestPause{20'000};

std::string closing_key(int rank) { return "ccl.closing." + std::to_string(rank); }

}  // namespace

bool meet_for_closing(const Rendezvous& rendezvous, const std::function<bool()>& has_failed) {
  if (rendezvous.rank() != 0) {
    rendezvous.put(closing_key(rendezvous.rank()), {}, 1);
    return !has_failed();
  }
  for (int rank = 1; rank < rendezvous.size(); ++rank) {
    const std::string key = closing_key(rank);
    for (auto pause = kFirstPause; !rendezvous.find(key); pause = std::min(2 * pause, kLongestPause)) {
      if (has_failed()) return false;
      std::this_thread::sleep_for(pause);
    }
    (void)rendezvous.get(key);  // the only reader: the store forgets the key
  }
  return !has_failed();
}

}  // namespace tutti::ccl
