#include "report/move_probe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "native_api.hpp"
#include "segment/ring.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::native {
namespace {

constexpr std::uint64_t kChunks[] = {4U << 10, 16U << 10, 64U << 10};
constexpr std::uint64_t kLongest = 64U << 10;
constexpr std::uint64_t kTurn = 128U << 10;  // bytes
constexpr std::uint64_t kFewest = 3;         // chunks of a turn
constexpr int kRounds = 3;                   // at least, after one that warms up
// How long more rounds follow if the best two times of a turn differ because other programs had the cores meanwhile.
constexpr std::chrono::milliseconds kPatience{30};

std::uint64_t chunks_of_turn(std::uint64_t chunk) noexcept { return std::max(kTurn / chunk, kFewest); }

/// The first and the last core, as sets; nothing if they are the same.
std::optional<std::pair<api::CoreSet, api::CoreSet>> ends() noexcept {
  const api::CoreSet usable = api::usable_cores();
  api::CoreSet first{};
  api::CoreSet last{};
  for (std::size_t word = 0; word < usable.size(); ++word) {
    if (usable[word] == 0) continue;
    if (std::ranges::all_of(first, [](std::uint64_t bits) { return bits == 0; })) {
      first[word] = std::uint64_t{1} << std::countr_zero(usable[word]);
    }
    last = {};
    last[word] = std::uint64_t{1} << (63 - std::countl_zero(usable[word]));
  }
  if (first == last) return std::nullopt;
  return std::pair(first, last);
}

/// Spins until ready(); lets others have the core after a while, because the other thread may need it.
template <typename Ready>
void await(const Ready& ready) {
  for (int looks = 0; !ready(); ++looks) {
    if (looks > 1000) api::yield();
  }
}

/// The best two times of a turn, per chunk.
struct Best {
  double first = std::numeric_limits<double>::infinity();
  double second = std::numeric_limits<double>::infinity();

  void add(double us) noexcept {
    second = std::min(second, std::max(first, us));
    first = std::min(first, us);
  }
  [[nodiscard]] bool is_steady() const noexcept { return second <= 1.3 * first; }
};
using Times = std::array<std::array<Best, 2>, std::size(kChunks)>;  // by chunk and way: through, past

/// Copies chunks out until one has the length 0.
void read_all(const RingPlace& place, std::byte* to) {
  RingReader ring(place, 0);
  while (true) {
    await([&] { return ring.front() != nullptr; });
    const std::uint64_t bytes = ring.front()->total;
    if (bytes == 0) return;
    spi::copy(to, ring.payload(bytes), bytes, false);
    ring.pop(bytes);
  }
}

/// The writer's end, with the position behind its last chunk.
class Writer {
 public:
  Writer(const RingPlace& place, const std::byte* from) : place_(place), ring_(place, 1, -1), from_(from) {}

  /// Microseconds of a chunk of a turn, until the reader has it.
  [[nodiscard]] double turn(std::uint64_t chunk, bool past) {
    const auto begin = Clock::now();
    for (std::uint64_t k = 0; k < chunks_of_turn(chunk); ++k) {
      await([&] { return ring_.writable(chunk); });
      spi::copy(ring_.payload(chunk), from_, chunk, past);
      publish(chunk);
    }
    await([&] { return place_.reader(0).tail.load(std::memory_order_seq_cst) == end_; });
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    return took.count() / static_cast<double>(chunks_of_turn(chunk));
  }
  void finish() {
    await([&] { return ring_.writable(0); });
    publish(0);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void publish(std::uint64_t bytes) {
    ring_.slot().total = bytes;
    ring_.slot().set_watch(bytes, Watch::none);
    ring_.publish(bytes);
    end_ = place_.after(end_, bytes);
  }

  RingPlace place_;
  RingWriter ring_;
  const std::byte* from_;
  std::uint64_t end_ = 0;
};

bool are_steady(const Times& times) noexcept {
  return std::ranges::all_of(times, [](const auto& ways) { return ways[0].is_steady() && ways[1].is_steady(); });
}

Times write_all(const RingPlace& place, const std::byte* from) {
  Times times;
  Writer writer(place, from);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round <= kRounds || !are_steady(times); ++round) {
    if (round > kRounds && std::chrono::steady_clock::now() - begin > kPatience) break;
    for (std::size_t i = 0; i < std::size(kChunks); ++i) {
      for (const bool past : {false, true}) {
        const double us = writer.turn(kChunks[i], past);
        if (round > 0) times[i][past ? 1 : 0].add(us);
      }
    }
  }
  writer.finish();
  return times;
}

}  // namespace

MoveTimes probe_moves(const RingShape& shape) {
  const auto cores = ends();
  if (!cores || shape.longest_chunk() < kLongest) return {};
  const Geometry geometry{
      .ranks = 2, .mailbox_bytes = kLine, .pair = shape, .broadcast = {}, .message = {}, .self = {}};
  const api::Mapping memory(Layout::bytes(geometry));
  (void)memory.populate(0, memory.bytes());
  const Layout layout(static_cast<std::byte*>(memory.data()), geometry);
  layout.construct();
  for (int rank = 0; rank < 2; ++rank) layout.construct(rank);
  const RingPlace place = layout.pair(0, 1);
  const std::vector<std::byte> source(kLongest, std::byte{1});
  std::vector<std::byte> target(kLongest);
  std::thread reader([&] {
    api::visit_cores(cores->second);
    read_all(place, target.data());
  });
  api::visit_cores(cores->first);
  const Times times = write_all(place, source.data());
  reader.join();
  MoveTimes result{.moves = {}, .steady = are_steady(times)};
  for (std::size_t i = 0; i < std::size(kChunks); ++i) {
    result.moves.push_back({.chunk_bytes = kChunks[i], .through_us = times[i][0].first, .past_us = times[i][1].first});
  }
  return result;
}

}  // namespace tutti::native
