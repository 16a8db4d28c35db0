// The rings of the native engine, without the engine.
#include <gtest/gtest.h>

#include <cstring>
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
  static Geometry small() {
    return {.ranks = kRanks,
            .depth = 2,
            .mailbox_bytes = 256,
            .pair_bytes = 256,
            .broadcast_bytes = 256,
            .message_bytes = 256};
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
      ASSERT_TRUE(writer.writable());
      writer.slot().total = k;
      writer.publish();
    }
    EXPECT_FALSE(writer.writable());
    for (std::uint64_t k = 0; k < 2; ++k) {
      ASSERT_NE(reader.front(), nullptr);
      EXPECT_EQ(reader.front()->total, k);
      reader.pop();
    }
    EXPECT_EQ(reader.front(), nullptr);
  }
}

TEST_F(Rings, BroadcastWaitsForTheSlowestReader) {
  RingWriter writer(layout_.broadcast(1), kRanks, 1);
  RingReader first(layout_.broadcast(1), 0);
  RingReader second(layout_.broadcast(1), 2);
  writer.publish();
  writer.publish();
  first.pop();
  first.pop();
  EXPECT_FALSE(writer.writable());
  second.pop();
  EXPECT_TRUE(writer.writable());
}

TEST_F(Rings, AReaderMaySkipWhatIsNotYetWritten) {
  RingWriter writer(layout_.broadcast(1), kRanks, 1);
  RingReader idle(layout_.broadcast(1), 0);
  RingReader reader(layout_.broadcast(1), 2);
  idle.skip(10);
  for (std::uint64_t k = 0; k < 11; ++k) {
    ASSERT_TRUE(writer.writable());
    writer.slot().total = k;
    writer.publish();
    ASSERT_NE(reader.front(), nullptr);
    reader.pop();
  }
  ASSERT_NE(idle.front(), nullptr);
  EXPECT_EQ(idle.front()->total, 10U);
}

TEST_F(Rings, EveryPlaceIsApart) {
  // Writes a different mark into every slot and mailbox; no mark may overwrite another.
  std::vector<Slot*> slots;
  const auto add = [&slots](const RingPlace& place) {
    for (std::uint64_t k = 0; k < 2; ++k) slots.push_back(&place.slot(k));
  };
  for (int from = 0; from < kRanks; ++from) {
    add(layout_.broadcast(from));
    for (std::uint64_t k = 0; k < kMailboxDepth; ++k) slots.push_back(&layout_.mailbox(from, k).slot);
    for (int to = 0; to < kRanks; ++to) {
      add(layout_.message(from, to));
      if (from != to) add(layout_.pair(from, to));
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i]->tag = i;
    std::memset(payload(*slots[i], 256), static_cast<int>(i), 256);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(slots[i]->tag, i);
    for (std::size_t k = 0; k < 256; ++k) ASSERT_EQ(payload(*slots[i], 256)[k], static_cast<std::byte>(i));
    EXPECT_EQ(slots[i]->stamp.load(), 0U);
  }
  EXPECT_EQ(layout_.header().sleepers.load(), 0U);
}

TEST_F(Rings, CarryAStreamBetweenThreads) {
  constexpr std::uint64_t kChunks = 20000;
  std::thread producer([this] {
    RingWriter writer(layout_.pair(2, 0), 1, -1);
    for (std::uint64_t k = 0; k < kChunks; ++k) {
      while (!writer.writable()) std::this_thread::yield();
      std::memset(payload(writer.slot(), 200), static_cast<int>(k), 200);
      writer.slot().total = k;
      writer.publish();
    }
  });
  RingReader reader(layout_.pair(2, 0), 0);
  std::uint64_t wrong = 0;
  for (std::uint64_t k = 0; k < kChunks; ++k) {
    Slot* slot = nullptr;
    while ((slot = reader.front()) == nullptr) std::this_thread::yield();
    const std::byte* data = payload(*slot, 200);
    if (slot->total != k || data[0] != static_cast<std::byte>(k) || data[199] != static_cast<std::byte>(k)) ++wrong;
    reader.pop();
  }
  producer.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace tutti::native
