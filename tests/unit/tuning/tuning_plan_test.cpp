// Pins and plans: every operation goes where pins and table say, else to the base.
#include "tuning/tuning_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/refusals.hpp"

namespace tutti {
namespace {

PlanCandidate candidate(std::string spec, std::string objection = {}) {
  return {.spec = std::move(spec),
          .capabilities = spi::Capabilities::all(),
          .version = "9.2 of it",
          .objection = std::move(objection)};
}

TuningRow row_of(OpKind op, std::uint64_t from, std::uint64_t to, std::vector<std::string> specs, int ranks = 2) {
  TuningRow row{.op = op,
                .types = traits(op).reduces ? TypeClass::floating : TypeClass::any,
                .ranks_from = ranks,
                .ranks_to = ranks,
                .from = from,
                .to = to,
                .backends = {}};
  for (std::string& spec : specs) row.backends.push_back({std::move(spec), {}});
  return row;
}

LoadedTuning tuning_of(std::vector<TuningRow> rows) {
  LoadedTuning loaded{.table = TuningTable{}, .path = "/the/file"};
  loaded.table->rows = std::move(rows);
  return loaded;
}

Operation operation_of(OpKind op, DataType type, std::uint64_t count, Reduction reduction = Reduction::sum) {
  Operation operation;
  operation.kind = op;
  operation.type = type;
  operation.count = count;
  operation.reduction = reduction;
  return operation;
}

std::string leaf_name(const TuningPlan& plan, const Operation& operation) {
  return plan.leaves()[plan.leaf_of(operation)].spec;
}

TEST(Pins, HaveOperationRangeAndBackend) {
  const auto pins = parse_pins("allreduce:1M-8M=ccl,allgather=mpi-openmpi,broadcast:4K=native,reduce:1K-=native");
  ASSERT_EQ(pins.size(), 4u);
  EXPECT_TRUE(pins[0].covers(OpKind::allreduce, 8 << 20));
  EXPECT_FALSE(pins[0].covers(OpKind::allreduce, (8 << 20) + 1));
  EXPECT_FALSE(pins[0].covers(OpKind::reduce, 4 << 20));
  EXPECT_EQ(pins[1].spec, "mpi:openmpi");
  EXPECT_TRUE(pins[1].covers(OpKind::allgather, 0));
  EXPECT_TRUE(pins[2].covers(OpKind::broadcast, 4096));
  EXPECT_FALSE(pins[2].covers(OpKind::broadcast, 4097));
  EXPECT_TRUE(pins[3].covers(OpKind::reduce, kNoLimit));
  EXPECT_TRUE(parse_pins("").empty());
}

TEST(Pins, OfAnotherFormAreRefused) {
  for (const char* text : {"allreduce", "allreduce=", "send=native", "allreduce:=ccl", "allreduce:8M-1M=ccl",
                           "allreduce:1Mb=ccl", "allreduce=auto", ",", "allreduce=ccl,", "allreduce:-4K=ccl"}) {
    const std::string fault = test::error_of([&] { (void)parse_pins(text); }, ErrorCode::config);
    EXPECT_NE(fault.find("TUTTI_PIN"), std::string::npos) << text;
  }
}

TEST(TuningPlan, RoutesByRow) {
  const TuningPlan plan(
      tuning_of({row_of(OpKind::allreduce, 0, 1000, {"a"}), row_of(OpKind::allreduce, 1000, 4000, {"b", "a"}),
                 row_of(OpKind::allgather, 64, kNoLimit, {"b"})}),
      {}, {candidate("a"), candidate("b")}, 2, false);
  EXPECT_TRUE(plan.routes());
  const auto at = [&](std::uint64_t count, DataType type = DataType::float32) {
    return leaf_name(plan, operation_of(OpKind::allreduce, type, count));
  };
  EXPECT_EQ(at(0), "a");
  EXPECT_EQ(at(249), "a");
  EXPECT_EQ(at(250), "b");
  EXPECT_EQ(at(999), "b");
  EXPECT_EQ(at(1000), "a") << "beyond the rows the rules decide";
  EXPECT_EQ(at(125, DataType::float64), "b");
  EXPECT_EQ(at(500, DataType::int32), "a") << "the rows are of floating types";
  EXPECT_EQ(at(std::uint64_t{1} << 58), "a");
  // allgather of 2 ranks: two blocks are the message.
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allgather, DataType::uint8, 31)), "a");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allgather, DataType::uint8, 32)), "b");
  Operation device = operation_of(OpKind::allgather, DataType::uint8, 32);
  device.where.kind = MemoryKind::device;
  EXPECT_EQ(leaf_name(plan, device), "a");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::send, DataType::uint8, 1000)), "a");
}

TEST(TuningPlan, LimitsThatNoCountMeetsExactly) {
  const TuningPlan plan(tuning_of({row_of(OpKind::allreduce, 1001, kNoLimit, {"b"})}), {},
                        {candidate("a"), candidate("b")}, 2, false);
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, 250)), "a");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, 251)), "b");
}

TEST(TuningPlan, PinsComeBeforeRows) {
  const TuningPlan plan(tuning_of({row_of(OpKind::allreduce, 0, kNoLimit, {"b"})}),
                        parse_pins("allreduce:1K-2K=c,allreduce:2K-4K=a"),
                        {candidate("a"), candidate("b"), candidate("c:one")}, 2, false);
  const auto at = [&](std::uint64_t count) {
    return leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, count));
  };
  EXPECT_EQ(at(255), "b");
  EXPECT_EQ(at(256), "c:one");
  EXPECT_EQ(at(512), "c:one") << "the first pin counts";
  EXPECT_EQ(at(513), "a");
  EXPECT_EQ(at(1025), "b");
  const PlanChoice choice = plan.choose(OpKind::allreduce, false, DataType::float32, Reduction::sum, 1024);
  ASSERT_NE(choice.pin, nullptr);
  EXPECT_EQ(choice.pin->text, "allreduce:1K-2K=c");
}

TEST(TuningPlan, PassesOverBackendsThatAreNotUsable) {
  LoadedTuning tuning = tuning_of({row_of(OpKind::allreduce, 0, 1000, {"gone", "broken", "old", "b"}),
                                   row_of(OpKind::allreduce, 1000, kNoLimit, {"gone"})});
  tuning.table->libraries = {{"old", "8.0"}, {"b", "9.2"}};
  const TuningPlan plan(std::move(tuning), {},
                        {candidate("a"), candidate("b"), candidate("broken", "rank 1: no library"), candidate("old")},
                        2, false);
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, 1)), "b");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, 1000)), "a");
  const PlanChoice choice = plan.choose(OpKind::allreduce, false, DataType::float32, Reduction::sum, 4);
  EXPECT_EQ(choice.place, 3u);
  test::expect_words(choice.passed, {"gone is no backend", "broken is not usable: rank 1: no library",
                                     "old was measured in version 8.0, this is 9.2"});
}

TEST(TuningPlan, StrictAcceptsNoOtherBackendInPlaceOfTheFastest) {
  const auto make = [](int ranks) {
    (void)TuningPlan(tuning_of({row_of(OpKind::allreduce, 0, kNoLimit, {"gone", "a"}, 2)}), {}, {candidate("a")}, ranks,
                     true);
  };
  const std::string why = test::error_of([&] { make(2); }, ErrorCode::backend_unavailable);
  test::expect_words(why, {"/the/file", "gone", "TUTTI_STRICT"});
  EXPECT_NO_THROW(make(3)) << "the row is of 2 ranks";
}

TEST(TuningPlan, RefusesPinsToWhatIsNotUsable) {
  const std::string why = test::error_of(
      [] {
        (void)TuningPlan({}, parse_pins("allreduce=b"), {candidate("a"), candidate("b", "no library")}, 2, false);
      },
      ErrorCode::backend_unavailable);
  test::expect_words(why, {"TUTTI_PIN", "allreduce=b", "no library"});
}

TEST(TuningPlan, AsksNoBackendForWhatItLacks) {
  PlanCandidate poor = candidate("poor");
  poor.capabilities = spi::Capabilities().add(OpKind::allreduce).add(Reduction::sum, DataType::float32);
  const TuningPlan plan(
      tuning_of({row_of(OpKind::allreduce, 0, kNoLimit, {"poor"}), row_of(OpKind::reduce, 0, kNoLimit, {"poor"})}), {},
      {candidate("a"), poor}, 2, false);
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, 1)), "poor");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float32, 1, Reduction::max)), "a");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allreduce, DataType::float64, 1)), "a");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::reduce, DataType::float32, 1)), "a");
  Operation scaled = operation_of(OpKind::allreduce, DataType::float32, 1);
  scaled.prescale = 0.5;
  EXPECT_EQ(leaf_name(plan, scaled), "a");
}

TEST(TuningPlan, ComposesWhereTheRowSaysAndTheBackendHasTheParts) {
  TuningRow row = row_of(OpKind::allreduce, 1000, kNoLimit, {"a", "a"});
  row.backends[0].composition = Composition::reduce_scatter_allgather;
  PlanCandidate base = candidate("a");
  base.capabilities = spi::Capabilities()
                          .add(OpKind::allreduce)
                          .add(OpKind::reduce_scatter)
                          .add(OpKind::allgather)
                          .add(Reduction::sum, DataType::float32)
                          .add(DataType::float32);
  const auto at = [&](const TuningPlan& plan, std::uint64_t count, double prescale = 1) {
    Operation operation = operation_of(OpKind::allreduce, DataType::float32, count);
    operation.prescale = prescale;
    return plan.composition_of(operation);
  };
  const TuningPlan plan(tuning_of({row}), {}, {base}, 2, false);
  EXPECT_TRUE(plan.routes());
  EXPECT_TRUE(plan.composes(0));
  EXPECT_EQ(at(plan, 249), Composition::none);
  EXPECT_EQ(at(plan, 250), Composition::reduce_scatter_allgather);
  EXPECT_EQ(at(plan, 250, 0.5), Composition::none) << "the backend does not scale";
  base.capabilities.remove(OpKind::allgather);
  const TuningPlan poor(tuning_of({row}), {}, {base}, 2, false);
  EXPECT_FALSE(poor.routes());
  EXPECT_EQ(at(poor, 250), Composition::none);
  const PlanChoice choice = poor.choose(OpKind::allreduce, false, DataType::float32, Reduction::sum, 1000);
  EXPECT_EQ(choice.place, 1u);
  test::expect_words(choice.passed, {"a lacks a part of the composition"});
}

TEST(TuningPlan, OfTheBaseAloneRoutesNothing) {
  const TuningPlan plan(tuning_of({row_of(OpKind::allreduce, 0, kNoLimit, {"a", "b"})}), {},
                        {candidate("a"), candidate("b")}, 2, false);
  EXPECT_FALSE(plan.routes());
}

TEST(TuningPlan, OfSomeOfTheRanksHasTheirRows) {
  const TuningPlan plan(tuning_of({row_of(OpKind::allgather, 0, kNoLimit, {"b"}, 2),
                                   row_of(OpKind::allgather, 1000, kNoLimit, {"b"}, 4)}),
                        {}, {candidate("a"), candidate("b")}, 4, false);
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allgather, DataType::uint8, 249)), "a");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::allgather, DataType::uint8, 250)), "b");
  EXPECT_EQ(leaf_name(*plan.for_ranks(2), operation_of(OpKind::allgather, DataType::uint8, 1)), "b");
  EXPECT_FALSE(plan.for_ranks(3)->routes());
}

TEST(TuningPlan, VectorOperationsGoByWhatAllRanksKnow) {
  const TuningPlan plan(
      tuning_of({row_of(OpKind::allgatherv, 100, kNoLimit, {"b"}), row_of(OpKind::gatherv, 0, kNoLimit, {"b"})}), {},
      {candidate("a"), candidate("b")}, 2, false);
  const std::vector<std::uint64_t> few = {40, 50};
  const std::vector<std::uint64_t> many = {1, 99};
  Operation op = operation_of(OpKind::allgatherv, DataType::uint8, 40);
  op.output_layout.counts = few.data();
  EXPECT_EQ(leaf_name(plan, op), "a");
  op.count = 1;
  op.output_layout.counts = many.data();
  EXPECT_EQ(leaf_name(plan, op), "b");
  EXPECT_EQ(leaf_name(plan, operation_of(OpKind::gatherv, DataType::uint8, 1000)), "a");
}

TEST(TuningPlan, UnevenReduceScatterGoesByItsWholeSize) {
  TuningRow row = row_of(OpKind::reduce_scatterv, 100, kNoLimit, {"b"});
  row.types = type_class(OpKind::reduce_scatterv, DataType::float8_e4m3);
  EXPECT_EQ(row.types, TypeClass::half);
  const TuningPlan plan(tuning_of({row}), {}, {candidate("a"), candidate("b")}, 2, false);
  EXPECT_TRUE(plan.routes());
  const std::vector<std::uint64_t> few = {40, 50};
  const std::vector<std::uint64_t> many = {1, 99};
  Operation op = operation_of(OpKind::reduce_scatterv, DataType::float8_e4m3, 40);
  op.input_layout.counts = few.data();
  EXPECT_EQ(leaf_name(plan, op), "a");
  op.count = 1;
  op.input_layout.counts = many.data();
  EXPECT_EQ(leaf_name(plan, op), "b");
}

}  // namespace
}  // namespace tutti
