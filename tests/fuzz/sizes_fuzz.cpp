// Sizes, ranges and lists of the command line, and the cells that the command passes to its ranks.
#include <algorithm>
#include <array>

#include "fuzz.hpp"
#include "sweep/plan/sizes.hpp"
#include "sweep/plan/sweep_cell.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::fuzz {

namespace {

using namespace tutti::tools;

constexpr std::array<std::string_view, 10> kSeeds = {"1M",
                                                     "1K,3K,1M",
                                                     "1M..512M",
                                                     "8,1K..64K,1G",
                                                     "65536G",
                                                     "allreduce:1048576",
                                                     "allreduce:8,alltoall:64K,reduce_scatterv:3",
                                                     "0",
                                                     "..",
                                                     ""};
constexpr std::array<std::string_view, 16> kWords = {"K", "M",         "G",         "..",   ".", ",",
                                                     ":", "allreduce", "broadcast", "send", "0", "18446744073709551615",
                                                     "-", " ",         "\n",        "\xff"};

void check_sizes(std::string_view input) {
  const std::vector<std::uint64_t> sizes = parse_sizes(input);
  require(!sizes.empty() && sizes.front() > 0, "a list of sizes is empty or has a 0");
  require(std::ranges::adjacent_find(sizes, std::ranges::greater_equal()) == sizes.end(), "the sizes do not ascend");
  std::vector<std::string> texts;
  for (const std::uint64_t size : sizes) texts.push_back(std::to_string(size));
  require(parse_sizes(join(texts, ",")) == sizes, "sizes parse to others when they are printed");
}

void check_cells(std::string_view input) {
  const std::vector<SweepCell> cells = parse_cells(input);
  std::vector<std::string> texts;
  for (const SweepCell& cell : cells) texts.push_back(to_text(cell));
  require(parse_cells(join(texts, ",")) == cells, "cells parse to others when they are printed");
}

void check_texts(std::string_view input) {
  const std::vector<std::string> parts = split(input, ',');
  require(join(parts, ",") == input, "split() loses a part");
  const std::string_view inner = trim(input);
  require(trim(inner) == inner, "trim() leaves blanks");
  std::size_t letters = 0;
  for (const std::string& line : wrap(input, 20))
    letters += static_cast<std::size_t>(line.size() - std::ranges::count(line, ' '));
  require(letters == input.size() - static_cast<std::size_t>(std::ranges::count(input, ' ')), "wrap() loses a letter");
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or<UsageError>([&] { check_sizes(input); });
  expect_value_or<UsageError>([&] { check_cells(input); });
  check_texts(input);
}

}  // namespace tutti::fuzz
