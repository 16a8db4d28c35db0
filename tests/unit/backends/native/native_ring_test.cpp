// The rings of the native engine, without the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "segment/layout.hpp"
#include "segment/ring.hpp"

namespace tutti::native {
namespace {

// A segment in ordinary memory.
class Rings : public testing::Test {
 protected:
  static constexpr int kRanks = 3;
  static constexpr std::size_t kBytes = 200;  // of most chunks: one unit
  static Geometry small() {
    constexpr RingShape kShape{.depth = 2, .unit = 256};
    return {
        .ranks = kRanks, .mailbox_bytes = 256, .pair = kShape, .broadcast = kShape, .message = kShape, .self = kShape};
  }
  Rings()
      : memory_(Layout::bytes(small()) / kLine + 1), layout_(reinterpret_cast<std::byte*>(memory_.data()), small()) {
    layout_.construct();
    for (int rank = 0; rank < kRanks; ++rank) layout_.construct(rank);
  }

  struct alignas(kLine) Line {
    std::array<std::byte, kLine> bytes;
  };
  std::vector<Line> memory_;
  Layout layout_;
};

TEST_F(Rings, FillUpAndDrain) {
  RingWriter writer(layout_.pair(0, 1), 1, -1);
  RingReader reader(layout_.pair(0, 1), 0);
  EXPECT_EQ(reader.front(), nullptr);
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t k = 0; k < 2; ++k) {
      ASSERT_TRUE(writer.writable(kBytes));
      writer.slot().total = k;
      writer.publish(kBytes);
    }
    EXPECT_FALSE(writer.writable(kBytes));
    for (std::uint64_t k = 0; k < 2; ++k) {
      ASSERT_NE(reader.front(), nullptr);
      EXPECT_EQ(reader.front()->total, k);
      reader.pop(kBytes);
    }
    EXPECT_EQ(reader.front(), nullptr);
  }
}

TEST_F(Rings, BroadcastWaitsForTheSlowestReader) {
  RingWriter writer(layout_.broadcast(1), kRanks, 1);
  RingReader first(layout_.broadcast(1), 0);
  RingReader second(layout_.broadcast(1), 2);
  writer.publish(kBytes);
  writer.publish(kBytes);
  first.pop(kBytes);
  first.pop(kBytes);
  EXPECT_FALSE(writer.writable(kBytes));
  second.pop(kBytes);
  EXPECT_TRUE(writer.writable(kBytes));
}

TEST_F(Rings, AReaderMaySkipWhatIsNotYetWritten) {
  RingWriter writer(layout_.broadcast(1), kRanks, 1);
  RingReader idle(layout_.broadcast(1), 0);
  RingReader reader(layout_.broadcast(1), 2);
  idle.skip(10 * kBytes, kBytes);
  for (std::uint64_t k = 0; k < 11; ++k) {
    ASSERT_TRUE(writer.writable(kBytes));
    writer.slot().total = k;
    writer.publish(kBytes);
    ASSERT_NE(reader.front(), nullptr);
    reader.pop(kBytes);
  }
  ASSERT_NE(idle.front(), nullptr);
  EXPECT_EQ(idle.front()->total, 10U);
}

TEST_F(Rings, EveryPlaceIsApart) {
  // Writes a different mark into every slot and mailbox; no mark may overwrite another.
  std::vector<Slot*> slots;
  std::vector<std::byte*> payloads;
  const auto add = [&](const RingPlace& place) {
    for (std::uint64_t k = 0; k < 2; ++k) {
      slots.push_back(&place.slot(k));
      payloads.push_back(place.payload(k, 256));
    }
  };
  for (int from = 0; from < kRanks; ++from) {
    add(layout_.broadcast(from));
    for (std::uint64_t k = 0; k < kMailboxDepth; ++k) {
      slots.push_back(&layout_.mailbox(from, k).slot);
      payloads.push_back(layout_.mailbox(from, k).payload(256));
    }
    for (int to = 0; to < kRanks; ++to) {
      add(layout_.message(from, to));
      if (from != to) add(layout_.pair(from, to));
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i]->tag = i;
    std::memset(payloads[i], static_cast<int>(i), 256);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(slots[i]->tag, i);
    for (std::size_t k = 0; k < 256; ++k) ASSERT_EQ(payloads[i][k], static_cast<std::byte>(i));
    EXPECT_EQ(slots[i]->stamp.load(), 0U);
  }
  EXPECT_EQ(layout_.header().sleepers.load(), 0U);
}

TEST_F(Rings, CarryAStreamBetweenThreads) {
  constexpr std::uint64_t kChunks = 20000;
  std::thread producer([this] {
    RingWriter writer(layout_.pair(2, 0), 1, -1);
    for (std::uint64_t k = 0; k < kChunks; ++k) {
      while (!writer.writable(kBytes)) std::this_thread::yield();
      std::memset(writer.payload(kBytes), static_cast<int>(k), kBytes);
      writer.slot().total = k;
      writer.publish(kBytes);
    }
  });
  RingReader reader(layout_.pair(2, 0), 0);
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 0; k < kChunks; ++k) {
    Slot* slot = nullptr;
    while ((slot = reader.front()) == nullptr) std::this_thread::yield();
    const std::byte* data = reader.payload(kBytes);
    if (slot->total != k || data[0] != static_cast<std::byte>(k) || data[kBytes - 1] != static_cast<std::byte>(k))
      ++wrong;
    reader.pop(kBytes);
  }
  producer.join();
  EXPECT_EQ(wrong, 0U);
}

// Chunks of random lengths, many of which do not fit the end of the ring.
TEST(RingOfUnits, CarriesChunksOfDifferentLengths) {
  constexpr RingShape kShape{.depth = 16, .unit = 256};
  constexpr std::uint64_t kChunks = 50000;
  const Geometry geometry{.ranks = 2, .mailbox_bytes = 256, .pair = kShape, .broadcast = {}, .message = {}, .self = {}};
  void* const memory = std::aligned_alloc(4096, (Layout::bytes(geometry) + 4095) / 4096 * 4096);
  const Layout layout(static_cast<std::byte*>(memory), geometry);
  layout.construct();
  for (int rank = 0; rank < 2; ++rank) layout.construct(rank);
  constexpr std::uint64_t kLongest = kShape.longest_chunk();
  const auto length = [](std::uint64_t k) { return k * 2654435761U % (kLongest + 1); };
  std::thread producer([&] {
    RingWriter writer(layout.pair(0, 1), 1, -1);
    std::vector<std::byte> data(kLongest);
    for (std::uint64_t k = 0; k < kChunks; ++k) {
      while (!writer.writable(length(k))) std::this_thread::yield();
      std::ranges::fill(data, static_cast<std::byte>(k));
      writer.slot().total = k;
      writer.fill(data.data(), length(k));
      writer.publish(length(k));
    }
  });
  RingReader reader(layout.pair(0, 1), 0);
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 0; k < kChunks; ++k) {
    Slot* slot = nullptr;
    while ((slot = reader.front()) == nullptr) std::this_thread::yield();
    const std::span data(reader.payload(length(k)), length(k));
    const auto is_right = [k](std::byte byte) { return byte == static_cast<std::byte>(k); };
    if (slot->total != k || !std::ranges::all_of(data, is_right)) ++wrong;
    reader.pop(length(k));
  }
  producer.join();
  EXPECT_EQ(wrong, 0U);
  std::free(memory);
}

// Only the readers know how long short chunks take to read: they tell the writer through their line of the ring.
TEST(RingOfUnits, ReadersReportTheirTimesForTheChunksOfATrial) {
  constexpr RingShape kShape{.depth = 64, .unit = 4096};
  constexpr std::size_t kChunk = 16U << 10;
  constexpr std::uint64_t kChunks = (4U << 20) / kChunk;
  const Geometry geometry{.ranks = 2, .mailbox_bytes = 256, .pair = kShape, .broadcast = {}, .message = {}, .self = {}};
  void* const memory = std::aligned_alloc(4096, (Layout::bytes(geometry) + 4095) / 4096 * 4096);
  const Layout layout(static_cast<std::byte*>(memory), geometry);
  layout.construct();
  for (int rank = 0; rank < 2; ++rank) layout.construct(rank);
  RingWriter writer(layout.pair(0, 1), 1, -1);
  RingReader reader(layout.pair(0, 1), 0);
  std::vector<std::byte> data(kChunk);
  std::vector<std::byte> copy(kChunk);
  std::array<std::uint64_t, kWatched> watched{};
  for (std::uint64_t k = 0; k < kChunks; ++k) {
    ASSERT_TRUE(writer.writable(kChunk));
    std::ranges::fill(data, static_cast<std::byte>(k));
    writer.fill(data.data(), kChunk);
    writer.publish(kChunk);
    ASSERT_NE(reader.front(), nullptr);
    const Watch watch = reader.front()->watch(kChunk);
    if (watch != Watch::none) watched[index_of(watch)] += kChunk;
    reader.copy_to(copy.data(), kChunk, false);
    reader.pop(kChunk);
    ASSERT_EQ(copy, data) << k;
  }
  EXPECT_GE(writer.writes().short_trials().judged(), 1U);
  EXPECT_GT(writer.writes().short_trials().last_through(), 0);
  const ReaderState& state = layout.pair(0, 1).reader(0);
  for (const Watch way : {Watch::usual, Watch::tried}) {
    EXPECT_GT(watched[index_of(way)], 0U);
    EXPECT_EQ(state.watched_bytes[index_of(way)].load(), watched[index_of(way)]);
    EXPECT_GT(state.watched_ns[index_of(way)].load(), 0U);
  }
  std::free(memory);
}

TEST(Chunks, OfAMessageAreAtLeastFourFrom16KiBOn) {
  EXPECT_EQ(chunk_of_message(0), 4U << 10);
  EXPECT_EQ(chunk_of_message(16U << 10), 4U << 10);
  std::uint64_t last = 0;
  for (std::uint64_t bytes = 16U << 10; bytes <= 1U << 30; bytes *= 2) {
    const std::uint64_t chunk = chunk_of_message(bytes);
    EXPECT_GE(bytes / chunk, 4U) << bytes;
    EXPECT_GE(chunk, last) << bytes;
    EXPECT_LE(chunk, 256U << 10) << bytes;
    last = chunk;
  }
}

TEST(RingOfUnits, IsNeverTooFullForAChunkOnceItIsEmpty) {
  for (const std::uint32_t depth : {2U, 4U, 8U, 512U}) {
    const RingPlace place{
        .shape = {.depth = depth, .unit = 256}, .slots = nullptr, .data = nullptr, .readers = nullptr};
    for (std::uint64_t position = 0; position < depth; ++position) {
      EXPECT_LE(place.after(position, place.shape.longest_chunk()) - position, depth) << position;
    }
  }
}

}  // namespace
}  // namespace tutti::native
