#include "watch/progress_board.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tutti/spi/tensors/stall.hpp"
#include "tutti/tutti.hpp"
#include "watch/peer_progress.hpp"
#include "watch/progress_snapshot.hpp"

namespace tutti::detail {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Operation operation(OpKind kind, std::uint64_t count, std::uint64_t sequence) {
  Operation op;
  op.kind = kind;
  op.type = DataType::float32;
  op.count = count;
  op.sequence = sequence;
  return op;
}

/// The state of a rank in the call, or after it.
ProgressSnapshot snapshot(const Operation& op, bool is_inside) {
  ProgressSnapshot result;
  result.stage = CommunicatorStage::active;
  result.kind = op.kind;
  result.type = op.type;
  result.root = op.root;
  result.count = op.count;
  result.sequence = op.sequence;
  result.left = is_inside ? op.sequence - 1 : op.sequence;
  return result;
}

TEST(ProgressBoard, ShowsTensorsThatWaitForRanks) {
  ProgressEntry entry(0, 3, "engine");
  ASSERT_NE(entry.slot(), nullptr);
  entry.activate("horovod:native");
  const auto seen = [&] { return read_whole_slot(*entry.slot()).value_or(CommunicatorProgress()); };
  EXPECT_EQ(seen().stalled_by, -1);
  spi::show_stall(&entry.slot()->call, "rank 2 has not submitted 'a'", 2);
  EXPECT_EQ(seen().stall, "rank 2 has not submitted 'a'");
  EXPECT_EQ(seen().stalled_by, 2);
  spi::show_stall(&entry.slot()->call, std::string(1000, 'x'), 7);
  EXPECT_EQ(seen().stall, std::string(511, 'x'));
  EXPECT_EQ(seen().stalled_by, -1) << "there is no such rank";
  spi::show_stall(&entry.slot()->call, {}, 1);
  EXPECT_EQ(seen().stall, "");
  EXPECT_EQ(seen().stalled_by, -1);
  // Progress that nobody can read is no slot of the board.
  spi::CallProgress apart;
  spi::show_stall(&apart, "lost", 1);
  spi::show_stall(nullptr, "lost", 1);
  EXPECT_EQ(seen().stall, "");
}

TEST(ProgressBoard, EntryShowsCallsAndState) {
  ProgressEntry entry(1, 4, "grid");
  ASSERT_NE(entry.slot(), nullptr);
  ProgressSlot& slot = *entry.slot();
  const std::uint32_t generation = slot.generation.load();
  auto seen = read_whole_slot(slot);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->stage, CommunicatorStage::creating);
  EXPECT_EQ(seen->name, "grid");
  EXPECT_EQ(seen->rank, 1);
  EXPECT_EQ(seen->size, 4);
  EXPECT_FALSE(seen->has_called());
  EXPECT_GT(seen->since_ns, 0) << "nothing has happened since it was made";

  entry.set_identity("job", 42, 3, 2);
  entry.activate("native");
  slot.call.enter_collective(spi::CallProgress::words_of(OpKind::broadcast, DataType::int8, Reduction::sum, 2), 7, 5);
  seen = read_whole_slot(slot);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->stage, CommunicatorStage::active);
  EXPECT_EQ(seen->job, "job");
  EXPECT_EQ(seen->communicator, 42u);
  EXPECT_EQ(seen->job_rank, 3);
  EXPECT_EQ(seen->ranks_here, 2);
  EXPECT_EQ(seen->backend, "native");
  EXPECT_TRUE(seen->is_inside());
  EXPECT_EQ(seen->since_ns, 0) << "nobody has looked at the clock in this state";
  EXPECT_EQ(describe_call(*seen), "broadcast #5 of 7 int8 (7 B) with root 2");

  slot.call.waits_since(77);
  EXPECT_EQ(read_slot(slot, generation)->since_ns, 77);
  slot.call.waits_since(99);
  EXPECT_EQ(read_slot(slot, generation)->since_ns, 77) << "the same state lasts";
  slot.call.leave_collective(5);
  EXPECT_FALSE(read_slot(slot, generation)->is_inside());
  EXPECT_EQ(read_slot(slot, generation)->since_ns, 0);

  entry.fail(ErrorCode::timeout, std::string(1000, 'x'));
  entry.fail(ErrorCode::aborted, "later");
  seen = read_whole_slot(slot);
  EXPECT_EQ(seen->stage, CommunicatorStage::failed);
  EXPECT_EQ(seen->failure_code, ErrorCode::timeout);
  EXPECT_EQ(seen->failure, std::string(511, 'x'));
}

TEST(ProgressBoard, SlotsAreTakenAgainWhenAllWereUsed) {
  ProgressSlot* first = nullptr;
  std::uint32_t generation = 0;
  {
    const ProgressEntry entry(0, 1, "first");
    first = entry.slot();
    ASSERT_NE(first, nullptr);
    generation = first->generation.load();
  }
  EXPECT_EQ(read_slot(*first, generation)->stage, CommunicatorStage::destroyed);
  {
    const ProgressEntry second(0, 1, "second");
    EXPECT_NE(second.slot(), first) << "a destroyed communicator is to be seen as long as possible";
  }
  for (std::size_t i = 0; i < kBoardSlots; ++i) const ProgressEntry another(0, 1, "another");
  EXPECT_FALSE(read_slot(*first, generation)) << "the slot is another communicator's by now";
  EXPECT_GT(first->generation.load(), generation);
}

TEST(ProgressBoard, FullBoardLetsCommunicatorsGoWithout) {
  std::vector<std::unique_ptr<ProgressEntry>> entries;
  for (std::size_t i = 0; i < kBoardSlots; ++i) entries.push_back(std::make_unique<ProgressEntry>(0, 1, "one"));
  EXPECT_NE(entries.back()->slot(), nullptr);
  BoardHeader& header = ProgressBoard::instance()->header();
  EXPECT_EQ(header.communicators_without.load(), 0u);
  {
    ProgressEntry more(0, 1, "more");
    EXPECT_EQ(more.slot(), nullptr);
    EXPECT_EQ(header.communicators_without.load(), 1u);
    more.activate("native");  // no effect
    more.fail(ErrorCode::aborted, "text");
    Communicator comm = local_group(1).front();  // works, though nobody sees it
    float value = 3;
    comm.allreduce(Buffer(&value, 1));
    EXPECT_EQ(value, 3);
  }
  EXPECT_EQ(header.communicators_without.load(), 0u);
  entries.pop_back();
  const ProgressEntry again(0, 1, "again");
  EXPECT_NE(again.slot(), nullptr);
}

TEST(ProgressBoard, ForkedChildWritesToABoardOfItsOwn) {
  ProgressEntry entry(0, 1, "parent");
  ASSERT_NE(entry.slot(), nullptr);
  const std::uint64_t token = ProgressBoard::process_token();
  const pid_t child = fork();
  if (child == 0) {
    bool good = ProgressBoard::process_token() != token && ProgressBoard::instance() != nullptr &&
                ProgressBoard::instance()->header().pid == getpid();
    entry.fail(ErrorCode::aborted, "by the child");
    const ProgressEntry own(0, 1, "child");
    good = good && own.slot() != nullptr && own.slot() != entry.slot();
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto seen = read_whole_slot(*entry.slot());
  EXPECT_EQ(seen->stage, CommunicatorStage::creating);
  EXPECT_EQ(seen->name, "parent");
}

TEST(ProgressBoard, ThreadsTakeDifferentSlots) {
  std::vector<std::unique_ptr<ProgressEntry>> entries(8);
  {
    std::vector<std::jthread> threads;
    for (auto& entry : entries) {
      threads.emplace_back([&entry] { entry = std::make_unique<ProgressEntry>(0, 1, "thread"); });
    }
  }
  for (std::size_t i = 1; i < entries.size(); ++i) EXPECT_NE(entries[i]->slot(), entries[0]->slot());
}

TEST(ProgressBoard, CommunicatorsShowTheirCalls) {
  auto group = local_group(2, {.config = Config().set("TUTTI_BACKEND", "native"), .name = "pair"});
  {
    std::vector<std::jthread> threads;
    for (Communicator& comm : group) {
      threads.emplace_back([&comm] {
        float value = 1;
        comm.allreduce(Buffer(&value, 1));
        comm.barrier();
        auto work = comm.allreduce(Buffer(&value, 1), {.async = true});
        work.wait();
      });
    }
  }
  int found = 0;
  for (std::size_t i = 0; i < kBoardSlots; ++i) {
    const auto seen = read_whole_slot(ProgressBoard::instance()->slot(i));
    if (!seen || seen->name != "pair" || seen->stage != CommunicatorStage::active) continue;
    ++found;
    EXPECT_EQ(seen->sequence, 3u);
    EXPECT_EQ(seen->left, 3u);
    EXPECT_EQ(seen->waits, 1u);
    EXPECT_EQ(seen->waited, 1u);
    EXPECT_EQ(seen->pending, 0u);
    EXPECT_FALSE(seen->is_inside());
    EXPECT_EQ(seen->backend, "native");
    EXPECT_EQ(describe_call(*seen), "allreduce(sum) #3 of 1 float32 (4 B)");
  }
  EXPECT_EQ(found, 2);
}

TEST(ProgressBoard, AbortIsSeen) {
  Communicator comm = local_group(1, {.name = "aborted"}).front();
  comm.abort();
  bool found = false;
  for (std::size_t i = 0; i < kBoardSlots; ++i) {
    const auto seen = read_whole_slot(ProgressBoard::instance()->slot(i));
    if (!seen || seen->name != "aborted") continue;
    found = true;
    EXPECT_EQ(seen->stage, CommunicatorStage::failed);
    EXPECT_EQ(seen->failure_code, ErrorCode::aborted);
  }
  EXPECT_TRUE(found);
}

TEST(PeerProgress, CardOfAnotherProcessIsFollowed) {
  int ready[2];
  int end[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    ProgressEntry entry(1, 2, "peer");
    entry.activate("native");
    entry.slot()->call.enter_collective(0, 8, 4);
    std::string card = entry.card(1);
    card.resize(256);
    (void)!write(ready[1], card.data(), card.size());
    char byte = 0;
    (void)!read(end[0], &byte, 1);
    _exit(0);
  }
  close(end[0]);
  std::string card(256, '\0');
  ASSERT_EQ(read(ready[0], card.data(), card.size()), 256);
  card.resize(card.find('\0'));
  const ProgressEntry mine(0, 2, "peer");
  spi::Peers peers{.rank = 0, .size = 2, .hosts = {"here", "here"}, .pids = {getpid(), child}};
  const std::vector<std::string> cards = {mine.card(1), card};
  const PeerProgress progress(cards, peers);
  EXPECT_TRUE(progress.is_visible(0));
  ASSERT_TRUE(progress.is_visible(1));
  EXPECT_EQ(progress.look(1)->sequence, 4u);
  EXPECT_TRUE(progress.look(1)->is_inside());

  // A card that lies about the process, and one from another host.
  const std::vector<std::string> wrong = {mine.card(1), "123 " + card.substr(card.find(' ') + 1)};
  EXPECT_FALSE(PeerProgress(wrong, peers).is_visible(1));
  const std::vector<std::string> broken = {mine.card(1), "1 2 3 99999999 5"};
  EXPECT_FALSE(PeerProgress(broken, peers).is_visible(1));
  peers.hosts[1] = "there";
  EXPECT_FALSE(PeerProgress(cards, peers).is_visible(1));

  close(end[1]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(progress.look(1)->sequence, 4u) << "the last state of a dead rank stays";
  for (const int descriptor : {ready[0], ready[1]}) close(descriptor);
}

TEST(PeerProgress, RanksOfAJobHaveOneIdentity) {
  const ProgressEntry entry(0, 2, "any");
  const CardIdentity one = identity_of(entry.card(1));
  const CardIdentity two = identity_of(entry.card(2));
  EXPECT_EQ(one.job.size(), 8u);
  EXPECT_EQ(one.job, two.job);
  EXPECT_NE(one.communicator, two.communicator);
}

TEST(DescribeLate, NamesRanksThatAreBehindAndTheirLastCall) {
  const ProgressSnapshot mine = snapshot(operation(OpKind::allreduce, 1024, 41), true);
  ProgressSnapshot behind = snapshot(operation(OpKind::barrier, 0, 40), false);
  behind.since_ns = 100 * kSecond;
  ProgressSnapshot far = snapshot(operation(OpKind::allgather, 3, 38), true);
  const std::vector<RankView> others = {{1, 16, mine}, {2, 17, behind}, {3, 18, far}};
  EXPECT_EQ(
      describe_late(mine, others, 112 * kSecond + 300'000'000),
      "rank 2 (pid 17) has not entered allreduce(sum) #41 of 1024 float32 (4 KiB): it left barrier #40 12.3 s ago "
      "and is not in a call; rank 3 (pid 18) has not entered allreduce(sum) #41 of 1024 float32 (4 KiB), 3 "
      "operations behind: it is in allgather #38 of 3 float32 (12 B)");
}

TEST(DescribeLate, NamesRanksThatAreGoneFailedOrUnknown) {
  const ProgressSnapshot mine = snapshot(operation(OpKind::barrier, 0, 2), true);
  ProgressSnapshot destroyed = snapshot(operation(OpKind::barrier, 0, 1), false);
  destroyed.stage = CommunicatorStage::destroyed;
  ProgressSnapshot failed = destroyed;
  failed.stage = CommunicatorStage::failed;
  const std::vector<RankView> others = {{1, 0, destroyed}, {2, 17, failed, "out of memory"}, {3, 0, std::nullopt}};
  EXPECT_EQ(
      describe_late(mine, others, kSecond),
      "rank 1 has destroyed its communicator; rank 2 (pid 17) has failed: out of memory; nothing is known of rank "
      "3, which this rank cannot see");
}

TEST(DescribeLate, NamesTheOtherEndOfAMessageAndDifferentCalls) {
  ProgressSnapshot mine = snapshot(operation(OpKind::recv, 4, 3), false);
  mine.root = 2;
  mine.ticks = 1;
  const ProgressSnapshot idle = snapshot(operation(OpKind::barrier, 0, 3), false);
  const std::vector<RankView> others = {{1, 16, idle}, {2, 17, idle}};
  EXPECT_EQ(describe_late(mine, others, kSecond), "rank 2 (pid 17): it left barrier #3 and is not in a call");

  const ProgressSnapshot sums = snapshot(operation(OpKind::allreduce, 4, 4), true);
  const std::vector<RankView> other = {{1, 16, snapshot(operation(OpKind::barrier, 0, 4), true)}};
  EXPECT_EQ(describe_late(sums, other, kSecond),
            "rank 1 (pid 16) is in barrier #4 instead of allreduce(sum) #4 of 4 float32 (16 B)");
  const std::vector<RankView> same = {{1, 16, sums}};
  EXPECT_EQ(describe_late(sums, same, kSecond), "all ranks have entered allreduce(sum) #4 of 4 float32 (16 B)");
}

TEST(ReadSlot, NonsenseDoesNoHarm) {
  ProgressEntry entry(0, 1, "nonsense \x1b[31m\xff");
  ProgressSlot& slot = *entry.slot();
  slot.call.what.store(~std::uint64_t{0});
  slot.call.count.store(~std::uint64_t{0});
  slot.call.sequence.store(~std::uint64_t{0});
  const auto seen = read_whole_slot(slot);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->kind, OpKind::allreduce);
  EXPECT_FALSE(describe_call(*seen).empty());
  EXPECT_EQ(seen->name, "nonsense ?[31m?");
  slot.rank.store(7);
  EXPECT_FALSE(read_whole_slot(slot)) << "rank 7 of 1";
  slot.state.store(77);
  EXPECT_FALSE(read_whole_slot(slot));
}

/// A board as a stranger could make it: the header given, all slots random.
int make_strange_board(const BoardHeader& header, unsigned seed) {
  const int file = memfd_create(kBoardName, MFD_CLOEXEC);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(kBoardBytes / sizeof(std::uint64_t));
  for (std::uint64_t& word : words) word = random();
  // States and ranks that make sense now and then, so that the rest is looked at.
  auto* slots = reinterpret_cast<std::byte*>(words.data()) + sizeof(BoardHeader);
  for (std::size_t i = 0; i < kBoardSlots; ++i) {
    std::byte* const slot = slots + i * sizeof(ProgressSlot);
    const auto set = [&](std::size_t offset, std::uint32_t value) { std::memcpy(slot + offset, &value, sizeof value); };
    set(offsetof(ProgressSlot, state), static_cast<std::uint32_t>(i % 6));
    set(offsetof(ProgressSlot, rank), 0);
    set(offsetof(ProgressSlot, size), 1);
  }
  std::memcpy(static_cast<void*>(words.data()), static_cast<const void*>(&header), sizeof header);
  EXPECT_EQ(write(file, words.data(), kBoardBytes), ssize_t{kBoardBytes});
  return file;
}

/// The boards that this process seems to have.
std::vector<ProcessProgress> own_boards() {
  std::vector<ProcessProgress> own;
  for (ProcessProgress& process : read_progress()) {
    if (process.pid == getpid()) own.push_back(std::move(process));
  }
  return own;
}

TEST(ReadProgress, SeesTheCommunicatorsOfAProcess) {
  ProgressEntry entry(0, 1, "seen through proc");
  const auto own = own_boards();
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].problem, "");
  const auto is_it = [](const CommunicatorProgress& one) { return one.name == "seen through proc"; };
  EXPECT_TRUE(std::ranges::any_of(own[0].communicators, is_it));
}

TEST(ReadProgress, NonsenseOfStrangersIsReadWithoutHarm) {
  const ProgressEntry entry(0, 1, "own");
  for (unsigned seed = 0; seed < 20; ++seed) {
    BoardHeader header;
    header.pid = getpid();
    const int file = make_strange_board(header, seed);
    const auto own = own_boards();
    EXPECT_EQ(own.size(), 2U);
    for (const ProcessProgress& process : own) {
      for (const CommunicatorProgress& one : process.communicators) {
        EXPECT_FALSE(describe_call(one).empty());
        for (const std::string* text : {&one.name, &one.job, &one.backend, &one.device, &one.failure}) {
          EXPECT_TRUE(std::ranges::all_of(*text, [](char c) { return c >= ' ' && c <= '~'; })) << *text;
        }
      }
    }
    close(file);
  }
}

TEST(ReadProgress, OtherVersionsAndForeignFilesAreNamed) {
  const auto problem_of = [](const BoardHeader& header) {
    const int file = make_strange_board(header, 1);
    const auto own = own_boards();
    close(file);
    return own.empty() ? std::string("not seen") : own.back().problem;
  };
  BoardHeader header;
  header.pid = getpid();
  header.version = kBoardVersion + 1;
  EXPECT_NE(problem_of(header).find("version " + std::to_string(kBoardVersion + 1)), std::string::npos);
  header.version = kBoardVersion;
  header.slots = 1'000'000;
  EXPECT_EQ(problem_of(header), "its state is damaged");
  header.magic = 1;
  EXPECT_NE(problem_of(header).find("not of tutti"), std::string::npos);
  const int empty = memfd_create(kBoardName, MFD_CLOEXEC);
  EXPECT_NE(own_boards().back().problem.find("not of tutti"), std::string::npos);
  close(empty);
}

}  // namespace
}  // namespace tutti::detail
