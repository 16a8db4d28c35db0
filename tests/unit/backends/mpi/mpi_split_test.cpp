#include "mpi_split.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <vector>

namespace tutti::mpi {
namespace {

using Values = std::vector<std::int32_t>;
using Layout = std::vector<std::uint64_t>;

/// Buffers, layouts and operation of one rank.
struct Side {
  Values input;
  Values output;
  Layout input_counts, input_displacements, output_counts, output_displacements;
  Operation operation;
};

/// Stands in for MPI: carries out the steps of all ranks' splits, and fails the test on arguments that MPI refuses.
class Carrier {
 public:
  Carrier(std::vector<Side>& sides, std::uint64_t max_count) : max_count_(max_count) {
    const int size = static_cast<int>(sides.size());
    for (int rank = 0; rank < size; ++rank) {
      splits_.push_back(
          std::make_unique<Split>(sides[static_cast<std::size_t>(rank)].operation, rank, size, max_count));
    }
  }

  void run() {
    run_rest();
    if (splits_.front()->has_messages() || any_messages()) {
      run_messages();
    } else {
      run_collectives();
    }
    for (auto& split : splits_) split->finish();
  }

 private:
  static std::int32_t* at(const void* base, std::uint64_t element = 0) {
    return static_cast<std::int32_t*>(const_cast<void*>(base)) + element;
  }

  [[nodiscard]] bool any_messages() const {
    return std::any_of(splits_.begin(), splits_.end(), [](const auto& split) { return split->has_messages(); });
  }

  void check_fits(const BlockLayout& layout) const {
    for (std::size_t rank = 0; rank < splits_.size(); ++rank) {
      ASSERT_LE(layout.counts[rank], max_count_);
      ASSERT_LE(layout.displacements[rank], max_count_);
    }
  }

  /// The vector call for the rest; either all ranks make it or none.
  void run_rest() {
    for (const auto& split : splits_) ASSERT_EQ(split->rest() == nullptr, splits_.front()->rest() == nullptr);
    if (splits_.front()->rest() == nullptr) return;
    for (std::size_t from = 0; from < splits_.size(); ++from) {
      for (std::size_t to = 0; to < splits_.size(); ++to) move_rest(from, to);
    }
  }

  void move_rest(std::size_t from, std::size_t to) {
    const Operation& source = *splits_[from]->rest();
    const Operation& target = *splits_[to]->rest();
    const auto root = static_cast<std::size_t>(source.root);
    if (source.traits().output_root_only && to != root) return;
    if (source.traits().input_root_only && from != root) return;
    const bool vector_in = source.traits().input == Extent::vector;
    const bool vector_out = target.traits().output == Extent::vector;
    if (vector_in) check_fits(source.input_layout);
    if (vector_out) check_fits(target.output_layout);
    const std::uint64_t sent = vector_in ? source.input_layout.counts[to] : source.count;
    const std::uint64_t received = vector_out ? target.output_layout.counts[from] : target.count;
    ASSERT_EQ(sent, received) << "from " << from << " to " << to;
    const std::int32_t* begin = at(source.input, vector_in ? source.input_layout.displacements[to] : 0);
    std::int32_t* end = at(target.output, vector_out ? target.output_layout.displacements[from] : 0);
    if (sent != 0) std::memmove(end, begin, sent * sizeof(std::int32_t));
  }

  void run_messages() {
    std::map<std::pair<int, int>, std::deque<Operation>> sent;
    for (std::size_t rank = 0; rank < splits_.size(); ++rank) {
      for (const Operation& step : splits_[rank]->steps()) {
        ASSERT_LE(step.count, max_count_);
        if (step.kind == OpKind::send) sent[{static_cast<int>(rank), step.root}].push_back(step);
      }
    }
    for (std::size_t rank = 0; rank < splits_.size(); ++rank) {
      for (const Operation& step : splits_[rank]->steps()) {
        if (step.kind != OpKind::recv) continue;
        auto& queue = sent[{step.root, static_cast<int>(rank)}];
        ASSERT_FALSE(queue.empty()) << "no message from rank " << step.root << " to rank " << rank << " was sent";
        ASSERT_EQ(queue.front().count, step.count);
        std::memcpy(step.output, queue.front().input, step.count * sizeof(std::int32_t));
        queue.pop_front();
      }
    }
    for (const auto& [ends, queue] : sent)
      EXPECT_TRUE(queue.empty()) << "not received: " << ends.first << " to " << ends.second;
  }

  void run_collectives() {
    const std::size_t steps = splits_.front()->steps().size();
    for (const auto& split : splits_) ASSERT_EQ(split->steps().size(), steps);
    for (std::size_t index = 0; index < steps; ++index) run_collective(index);
  }

  void run_collective(std::size_t index) {
    const Operation& first = splits_.front()->steps()[index];
    ASSERT_LE(first.count, max_count_);
    Values result(first.count);
    for (std::size_t rank = 0; rank < splits_.size(); ++rank) {
      const Operation& step = splits_[rank]->steps()[index];
      ASSERT_EQ(step.kind, first.kind);
      ASSERT_EQ(step.root, first.root);
      ASSERT_EQ(step.count, first.count);
      if (step.kind == OpKind::broadcast && static_cast<int>(rank) != step.root) continue;
      for (std::size_t i = 0; i < step.count; ++i) result[i] += at(step.input)[i];
    }
    for (std::size_t rank = 0; rank < splits_.size(); ++rank) {
      const Operation& step = splits_[rank]->steps()[index];
      if (step.kind == OpKind::reduce && static_cast<int>(rank) != step.root) continue;
      std::memcpy(step.output, result.data(), step.count * sizeof(std::int32_t));
    }
  }

  std::uint64_t max_count_;
  std::vector<std::unique_ptr<Split>> splits_;
};

constexpr int kSize = 3;
constexpr std::uint64_t kMax = 4;

std::int32_t value(std::size_t rank, std::size_t index) { return static_cast<std::int32_t>(1000 * (rank + 1) + index); }

Values values(std::size_t rank, std::size_t count) {
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = value(rank, i);
  return result;
}

std::vector<Side> sides(OpKind kind, std::uint64_t count, std::size_t input, std::size_t output) {
  std::vector<Side> result(kSize);
  for (std::size_t rank = 0; rank < kSize; ++rank) {
    Side& side = result[rank];
    side.input = values(rank, input);
    side.output.assign(output, -1);
    side.operation.kind = kind;
    side.operation.type = DataType::int32;
    side.operation.root = 1;
    side.operation.count = count;
    side.operation.input = side.input.data();
    side.operation.output = side.output.data();
  }
  return result;
}

TEST(MpiSplit, AllreduceGoesChunkByChunk) {
  auto ranks = sides(OpKind::allreduce, 11, 11, 11);
  EXPECT_EQ(Split(ranks[0].operation, 0, kSize, kMax).steps().size(), 3u);
  Carrier(ranks, kMax).run();
  for (const Side& side : ranks) {
    for (std::size_t i = 0; i < 11; ++i) ASSERT_EQ(side.output[i], value(0, i) + value(1, i) + value(2, i));
  }
}

TEST(MpiSplit, ReduceScatterIsAReducePerBlock) {
  constexpr std::size_t kCount = 9;
  for (const bool in_place : {false, true}) {
    auto ranks = sides(OpKind::reduce_scatter, kCount, kCount * kSize, kCount);
    for (std::size_t rank = 0; in_place && rank < kSize; ++rank) {
      ranks[rank].operation.output = ranks[rank].input.data() + rank * kCount;
    }
    Carrier(ranks, kMax).run();
    for (std::size_t rank = 0; rank < kSize; ++rank) {
      const auto* out = static_cast<const std::int32_t*>(ranks[rank].operation.output);
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::size_t at = rank * kCount + i;
        ASSERT_EQ(out[i], value(0, at) + value(1, at) + value(2, at)) << "in place: " << in_place;
      }
    }
  }
}

TEST(MpiSplit, UnevenReduceScatterIsAReducePerBlock) {
  const Layout counts = {9, 0, 4};
  for (const bool in_place : {false, true}) {
    auto ranks = sides(OpKind::reduce_scatterv, 0, 13, 9);
    std::size_t begin = 0;
    for (std::size_t rank = 0; rank < kSize; begin += counts[rank], ++rank) {
      Operation& operation = ranks[rank].operation;
      operation.count = counts[rank];
      operation.input_layout = {counts.data(), nullptr};
      if (in_place) operation.output = ranks[rank].input.data() + begin;
      EXPECT_TRUE(Split::is_needed(operation, static_cast<int>(rank), kSize, kMax)) << rank;
    }
    Carrier(ranks, kMax).run();
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < kSize; ++rank) {
      const auto* out = static_cast<const std::int32_t*>(ranks[rank].operation.output);
      for (std::size_t i = 0; i < counts[rank]; ++i, ++at) {
        ASSERT_EQ(out[i], value(0, at) + value(1, at) + value(2, at)) << "in place: " << in_place;
      }
    }
  }
}

TEST(MpiSplit, EvenMovesArriveInRankOrder) {
  constexpr std::size_t kCount = 6;
  auto gathered = sides(OpKind::allgather, kCount, kCount, kCount * kSize);
  Carrier(gathered, kMax).run();
  auto rooted = sides(OpKind::gather, kCount, kCount, kCount * kSize);
  Carrier(rooted, kMax).run();
  auto scattered = sides(OpKind::scatter, kCount, kCount * kSize, kCount);
  Carrier(scattered, kMax).run();
  auto exchanged = sides(OpKind::alltoall, kCount, kCount * kSize, kCount * kSize);
  Carrier(exchanged, kMax).run();
  for (std::size_t rank = 0; rank < kSize; ++rank) {
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(scattered[rank].output[i], value(1, rank * kCount + i));
      for (std::size_t from = 0; from < kSize; ++from) {
        ASSERT_EQ(gathered[rank].output[from * kCount + i], value(from, i));
        ASSERT_EQ(exchanged[rank].output[from * kCount + i], value(from, rank * kCount + i));
        ASSERT_EQ(rooted[rank].output[from * kCount + i], rank == 1 ? value(from, i) : -1);
      }
    }
  }
}

/// Blocks longer and shorter than max / size, and displacements beyond max that only rank 1 has.
struct VectorCase {
  Layout counts;
  std::uint64_t gap;  ///< between the blocks, on rank 1 only
};

class MpiSplitVector : public testing::TestWithParam<VectorCase> {
 protected:
  static Layout displacements(const Layout& counts, std::uint64_t gap) {
    Layout result;
    for (std::uint64_t begin = gap; const std::uint64_t count : counts) {
      result.push_back(begin);
      begin += count + gap;
    }
    return result;
  }
  static std::uint64_t gap_of(std::size_t rank) { return rank == 1 ? GetParam().gap : 0; }
  static std::size_t extent(const Layout& counts, std::uint64_t gap) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) + gap * (counts.size() + 1);
  }
};

TEST_P(MpiSplitVector, Allgatherv) {
  const Layout& counts = GetParam().counts;
  auto ranks = sides(OpKind::allgatherv, 0, 0, 0);
  for (std::size_t rank = 0; rank < kSize; ++rank) {
    Side& side = ranks[rank];
    side.input = values(rank, counts[rank]);
    side.output.assign(extent(counts, gap_of(rank)), -1);
    side.output_counts = counts;
    side.output_displacements = displacements(counts, gap_of(rank));
    side.operation.count = counts[rank];
    side.operation.input = side.input.data();
    side.operation.output = side.output.data();
    side.operation.output_layout = {side.output_counts.data(), side.output_displacements.data()};
  }
  Carrier(ranks, kMax).run();
  for (const Side& side : ranks) {
    for (std::size_t from = 0; from < kSize; ++from) {
      for (std::size_t i = 0; i < counts[from]; ++i) {
        ASSERT_EQ(side.output[side.output_displacements[from] + i], value(from, i));
      }
    }
  }
}

TEST_P(MpiSplitVector, GathervAndScatterv) {
  const Layout& counts = GetParam().counts;
  const Layout begins = displacements(counts, GetParam().gap);
  const std::size_t whole = extent(counts, GetParam().gap);
  auto gathered = sides(OpKind::gatherv, 0, kMax * 4, whole);
  auto scattered = sides(OpKind::scatterv, 0, whole, kMax * 4);
  for (std::size_t rank = 0; rank < kSize; ++rank) {
    gathered[rank].operation.count = scattered[rank].operation.count = counts[rank];
    if (rank != 1) continue;  // only the root has layouts
    gathered[rank].operation.output_layout = {counts.data(), begins.data()};
    scattered[rank].operation.input_layout = {counts.data(), begins.data()};
  }
  Carrier(gathered, kMax).run();
  Carrier(scattered, kMax).run();
  for (std::size_t rank = 0; rank < kSize; ++rank) {
    for (std::size_t i = 0; i < counts[rank]; ++i) {
      ASSERT_EQ(gathered[1].output[begins[rank] + i], value(rank, i));
      ASSERT_EQ(scattered[rank].output[i], value(1, begins[rank] + i));
    }
  }
}

TEST_P(MpiSplitVector, Alltoallv) {
  const auto count = [](std::size_t from, std::size_t to) { return GetParam().counts[(from + 2 * to) % kSize]; };
  auto ranks = sides(OpKind::alltoallv, 0, 0, 0);
  for (std::size_t rank = 0; rank < kSize; ++rank) {
    Side& side = ranks[rank];
    for (std::size_t peer = 0; peer < kSize; ++peer) {
      side.input_counts.push_back(count(rank, peer));
      side.output_counts.push_back(count(peer, rank));
    }
    side.input_displacements = displacements(side.input_counts, gap_of(rank));
    side.output_displacements = displacements(side.output_counts, gap_of(rank));
    side.input = values(rank, extent(side.input_counts, gap_of(rank)));
    side.output.assign(extent(side.output_counts, gap_of(rank)), -1);
    side.operation.input = side.input.data();
    side.operation.output = side.output.data();
    side.operation.input_layout = {side.input_counts.data(), side.input_displacements.data()};
    side.operation.output_layout = {side.output_counts.data(), side.output_displacements.data()};
  }
  Carrier(ranks, kMax).run();
  for (std::size_t to = 0; to < kSize; ++to) {
    for (std::size_t from = 0; from < kSize; ++from) {
      for (std::size_t i = 0; i < count(from, to); ++i) {
        ASSERT_EQ(ranks[to].output[ranks[to].output_displacements[from] + i],
                  value(from, ranks[from].input_displacements[to] + i));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, MpiSplitVector,
                         testing::Values(VectorCase{{1, 1, 1}, 0}, VectorCase{{1, 1, 1}, 9}, VectorCase{{1, 7, 0}, 0},
                                         VectorCase{{9, 0, 1}, 5}, VectorCase{{0, 0, 0}, 0},
                                         VectorCase{{5, 6, 13}, 3}));

TEST(MpiSplit, IsNeededForLongBlocksAndFarDisplacementsOnly) {
  const Layout counts = {1, 1, 1};
  const Layout near = {0, 2, 4};
  const Layout far = {0, 2, 5};
  auto ranks = sides(OpKind::allgatherv, 1, 1, 8);
  Operation& operation = ranks[0].operation;
  operation.output_layout = {counts.data(), near.data()};
  EXPECT_FALSE(Split::is_needed(operation, 0, kSize, kMax));
  operation.output_layout = {counts.data(), far.data()};
  EXPECT_TRUE(Split::is_needed(operation, 0, kSize, kMax));
  const Layout long_block = {1, 2, 1};
  operation.output_layout = {long_block.data(), near.data()};
  EXPECT_TRUE(Split::is_needed(operation, 0, kSize, kMax));
}

}  // namespace
}  // namespace tutti::mpi
