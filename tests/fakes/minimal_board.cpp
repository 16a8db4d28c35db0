#include "fakes/minimal_board.hpp"

#include "tutti/error.hpp"

namespace tutti::test {

std::shared_ptr<Board> Board::named(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Board>> boards;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Board> board = boards[name].lock();
  if (board == nullptr) boards[name] = board = std::make_shared<Board>();
  return board;
}

void Board::post(const Address& address, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  messages_.emplace(address, std::vector<std::byte>(bytes.begin(), bytes.end()));
  changed_.notify_all();
}

std::vector<Board::Address> Board::missing(std::span<const Address> addresses, spi::Deadline until,
                                           const Operation& op) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (aborted_) throw Error(ErrorCode::aborted, tutti::describe(op) + ": the communicator was aborted", "minimal");
    std::vector<Address> empty;
    for (const Address& address : addresses) {
      if (!messages_.contains(address)) empty.push_back(address);
    }
    if (empty.empty() || std::chrono::steady_clock::now() >= until) return empty;
    if (until == spi::Deadline::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, until);
    }
  }
}

std::vector<std::byte> Board::take(const Address& address) {
  const std::lock_guard lock(mutex_);
  return std::move(messages_.extract(address).mapped());
}

void Board::abort() noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

}  // namespace tutti::test
