#include "engine/stall_board.hpp"

#include "tutti/spi/printable.hpp"
#include "tutti/spi/tensors/stall.hpp"

namespace tutti::horovod {
namespace {

// The board has room for one line.
constexpr std::size_t kMostNames = 4;
constexpr std::size_t kLongestName = 60;

}  // namespace

std::string describe_stall(const StallInspector::Missing& missing, std::span<const int> members) {
  std::string text;
  for (const auto& [rank, tensors] : missing) {
    if (!text.empty()) text += "; ";
    text += "rank " + std::to_string(members[static_cast<std::size_t>(rank)]) + " has not submitted ";
    std::size_t named = 0;
    for (const std::string& tensor : tensors) {
      if (named == kMostNames) break;
      text += (named == 0                    ? "'"
               : named + 1 == tensors.size() ? " and '"
                                             : ", '") +
              spi::printable(tensor, kLongestName) + "'";
      ++named;
    }
    if (named < tensors.size()) text += " and " + std::to_string(tensors.size() - named) + " more";
  }
  return text;
}

StallBoard::~StallBoard() {
  if (!stalls_.empty()) spi::show_stall(progress_, {}, -1);
}

void StallBoard::show(const std::string& set, const StallInspector::Missing& missing, std::span<const int> members) {
  const std::scoped_lock lock(mutex_);
  if (missing.empty()) {
    stalls_.erase(set);
  } else {
    stalls_[set] = {describe_stall(missing, members), members[static_cast<std::size_t>(missing.begin()->first)]};
  }
  std::string text;
  for (const auto& [name, stall] : stalls_) text += (text.empty() ? "" : "; ") + stall.first;
  spi::show_stall(progress_, text, stalls_.empty() ? -1 : stalls_.begin()->second.second);
}

}  // namespace tutti::horovod
