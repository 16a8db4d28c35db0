#include "watch/peer_progress.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "tutti/spi/file_descriptor.hpp"
#include "watch/progress_board.hpp"
#include "watch/progress_snapshot.hpp"

namespace tutti::detail {
namespace {

/// The words of ProgressEntry::card(). `descriptor` is -1 where the rank shows nothing.
struct Card {
  std::uint64_t token = 0;
  std::uint64_t number = 0;
  int descriptor = -1;
  std::size_t index = 0;
  std::uint32_t generation = 0;
};

Card parse(const std::string& text) {
  Card card;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto next = [&](auto& number) {
    while (at != end && *at == ' ') ++at;
    const auto [stop, error] = std::from_chars(at, end, number);
    at = stop;
    return error == std::errc();
  };
  const bool is_whole = next(card.token) && next(card.number) && next(card.descriptor) && next(card.index) &&
                        next(card.generation) && card.index < kBoardSlots;
  if (!is_whole) card.descriptor = -1;
  return card;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a + 0x9E3779B97F4A7C15U * (b + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

class PeerBoard {
 public:
  /// Null if that process, with that token, has no board there that this one can read.
  static std::shared_ptr<const PeerBoard> open(std::int64_t pid, const Card& card) {
    static std::mutex mutex;
    static auto* known = new std::map<std::pair<std::uint64_t, int>, std::weak_ptr<const PeerBoard>>;
    const std::scoped_lock lock(mutex);
    std::weak_ptr<const PeerBoard>& entry = (*known)[{card.token, card.descriptor}];
    if (auto board = entry.lock()) return board;
    std::erase_if(*known, [&](const auto& row) { return row.first.first != card.token && row.second.expired(); });
    auto board = std::make_shared<PeerBoard>(pid, card.descriptor);
    const bool is_right = board->header_ != nullptr && board->header_->magic == kBoardMagic &&
                          board->header_->version == kBoardVersion && board->header_->token == card.token;
    if (!is_right) return nullptr;
    (*known)[{card.token, card.descriptor}] = board;
    return board;
  }

  PeerBoard(std::int64_t pid, int descriptor) noexcept {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/%lld/fd/%d", static_cast<long long>(pid), descriptor);
    const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return;
    struct stat status {};
    // Sealed and large enough, else a read could end this process.
    const int seals = fcntl(file, F_GET_SEALS);
    if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &status) == 0 &&
        status.st_size >= static_cast<off_t>(kBoardBytes)) {
      void* const memory = mmap(nullptr, kBoardBytes, PROT_READ, MAP_SHARED, file, 0);
      if (memory != MAP_FAILED) header_ = static_cast<const BoardHeader*>(memory);
    }
    close(file);
  }
  ~PeerBoard() {
    if (header_ != nullptr) munmap(const_cast<BoardHeader*>(header_), kBoardBytes);
  }
  PeerBoard(const PeerBoard&) = delete;
  PeerBoard& operator=(const PeerBoard&) = delete;

  [[nodiscard]] const ProgressSlot& slot(std::size_t index) const noexcept {
    return reinterpret_cast<const ProgressSlot*>(header_ + 1)[index];
  }

 private:
  const BoardHeader* header_ = nullptr;
};

PeerProgress::PeerProgress(std::span<const std::string> cards, const spi::Peers& peers) {
  ranks_.resize(cards.size());
  const std::string& here = peers.hosts[static_cast<std::size_t>(peers.rank)];
  for (std::size_t r = 0; r < cards.size(); ++r) {
    Rank& rank = ranks_[r];
    rank.pid = peers.pids[r];
    const Card card = parse(cards[r]);
    if (card.descriptor < 0 || peers.hosts[r] != here || rank.pid == 0) continue;
    rank.generation = card.generation;
    if (card.token == ProgressBoard::process_token()) {
      if (const ProgressBoard* board = ProgressBoard::instance()) rank.slot = &board->slot(card.index);
      continue;
    }
    rank.board = PeerBoard::open(rank.pid, card);
    if (rank.board != nullptr) rank.slot = &rank.board->slot(card.index);
  }
}

std::optional<ProgressSnapshot> PeerProgress::look(int rank) const noexcept {
  const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  if (entry.slot == nullptr) return std::nullopt;
  std::optional<ProgressSnapshot> progress = read_slot(*entry.slot, entry.generation);
  if (!progress) {
    progress.emplace();
    progress->stage = CommunicatorStage::destroyed;
  }
  return progress;
}

namespace {

/// A rank may destroy a communicator that has failed.
bool may_have_failed(CommunicatorStage stage) noexcept {
  return stage == CommunicatorStage::failed || stage == CommunicatorStage::destroyed;
}

}  // namespace

ErrorCode PeerProgress::failure_code(int rank) const noexcept {
  const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  if (entry.slot == nullptr) return ErrorCode::ok;
  const std::optional<ProgressSnapshot> progress = read_slot(*entry.slot, entry.generation);
  if (!progress || !may_have_failed(progress->stage)) return ErrorCode::ok;
  return static_cast<ErrorCode>(entry.slot->failure_code.load(std::memory_order_relaxed));
}

std::string PeerProgress::failure(int rank) const {
  const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  if (entry.slot == nullptr) return {};
  const std::optional<ProgressSnapshot> progress = read_slot(*entry.slot, entry.generation);
  return progress && may_have_failed(progress->stage) ? entry.slot->failure.read() : std::string();
}

bool PeerProgress::has_exited(int rank) const noexcept {
  const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  return entry.slot != nullptr && entry.slot->generation.load(std::memory_order_acquire) == entry.generation &&
         entry.slot->state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(SlotState::exited);
}

std::string PeerProgress::reason_for_leaving(int rank) const {
  const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
  if (entry.slot == nullptr || !read_slot(*entry.slot, entry.generation)) return {};
  const bool has_failed = entry.slot->failure_code.load(std::memory_order_relaxed) != 0;
  return has_failed ? std::string() : entry.slot->failure.read();
}

CardIdentity identity_of(const std::string& card_of_rank_0) {
  const Card card = parse(card_of_rank_0);
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(card.token >> 32));
  const std::uint64_t key = mixed(card.token, card.number);
  return {digits.data(), key == 0 ? 1 : key};
}

std::vector<RankView> views_of_others(const PeerProgress& peers, int self) {
  std::vector<RankView> views;
  for (int rank = 0; rank < peers.size(); ++rank) {
    if (rank != self) views.push_back({rank, peers.pid(rank), peers.look(rank), peers.failure(rank)});
  }
  return views;
}

}  // namespace tutti::detail
