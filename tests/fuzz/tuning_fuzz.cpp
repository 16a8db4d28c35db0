// Tuning files and pins.
#include <array>
#include <string>

#include "fuzz.hpp"
#include "tuning/pins.hpp"
#include "tutti/error.hpp"
#include "tutti/tuning.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 6> kSeeds = {
    "tutti-tuning 1\ntutti 0.1.0\ncpu X 1\ncores 2\nhost h\nlibrary native 0.1.0\n"
    "row allreduce host floating 2 0 64K 0.12 0.9\nuse native as halves 1K:3.2 4K:5.1\nuse native 1K:4\nuse "
    "mpi:openmpi 1K:9.25\n"
    "row allgather device any 2-4 1M end 0 1\nuse ccl\n",
    "tutti-tuning 1\ntutti 1\ncpu X\ncores 1\n# comment\nrow barrier host any 1 0 end 0 0\nuse native 0:1\n",
    "tutti-tuning 2\n",
    "allreduce:1M-8M=ccl,allgather=mpi-openmpi,broadcast:4K=native",
    "reduce:1K-=native",
    ""};
constexpr std::array<std::string_view, 26> kWords = {"row ",   "use ",
                                                     "\n",     " ",
                                                     "end",    "0",
                                                     "1K",     "18446744073709551615",
                                                     "-1",     "1e9",
                                                     "0.5",    "nan",
                                                     "device", "host ",
                                                     "any ",   "2-4",
                                                     ":",      "=",
                                                     ",",      "allreduce",
                                                     "#",      "\xff",
                                                     "\t",     "native",
                                                     " as ",   "reduce_scatter+allgather"};

void check_table(std::string_view input) {
  const TuningTable table = parse_tuning(input);
  const std::string text = to_text(table);
  const TuningTable again = parse_tuning(text);
  require(to_text(again) == text, "a table is another one after it was written and read");
  for (const TuningRow& row : table.rows) {
    require(!row.backends.empty() && row.from < row.to, "a row has no backend or no size");
    const TuningRow* found = table.find(row.op, row.on_device, row.types, row.ranks_from, row.from);
    require(found == &row, "the row of a size is not found");
    require(row.backends.front().expected_us(row.from) >= 0, "an expected time is negative");
  }
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or<Error>([&] { check_table(input); });
  expect_value_or<Error>([&] {
    for (const Pin& pin : parse_pins(input)) require(pin.from <= pin.to && !pin.spec.empty(), "a pin is empty");
  });
}

}  // namespace tutti::fuzz
