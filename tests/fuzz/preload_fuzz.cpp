// Settings of the preloaded MPI adapter, one a line: lists of operations, sizes and numbers.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "fuzz.hpp"
#include "gains/rules.hpp"
#include "tutti/config.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 6> kSeeds = {
    "TUTTI_PRELOAD=1\nTUTTI_PRELOAD_OPS=allreduce,broadcast\nTUTTI_PRELOAD_MIN=64K\nTUTTI_PRELOAD_AFTER=2\n",
    "TUTTI_PRELOAD_OPS=all\nTUTTI_PRELOAD_MIN=auto\nTUTTI_SHOW=1\n",
    "TUTTI_PRELOAD_OPS=auto\nTUTTI_PRELOAD_MIN=512\n",
    "TUTTI_PRELOAD_OPS=gatherv,alltoallv,barrier\n",
    "TUTTI_PRELOAD=0\nTUTTI_PRELOAD_OPS=nothing\n",
    "TUTTI_BACKEND=mpi:intel\nTUTTI_PRELOAD_SHARE=1\n"};
constexpr std::array<std::string_view, 16> kWords = {",",
                                                     "all",
                                                     "auto",
                                                     "allreduce",
                                                     "reduce_scatterv",
                                                     "send",
                                                     "=",
                                                     "\n",
                                                     "64K",
                                                     "1.5",
                                                     "-1",
                                                     "99999999999999999999",
                                                     "16E",
                                                     "TUTTI_PRELOAD_OPS=",
                                                     "\xff",
                                                     "TUTTI_PRELOAD_MIN="};
constexpr std::array<std::string_view, 7> kNames = {"TUTTI_PRELOAD",       "TUTTI_PRELOAD_OPS",   "TUTTI_PRELOAD_MIN",
                                                    "TUTTI_PRELOAD_AFTER", "TUTTI_PRELOAD_SHARE", "TUTTI_SHOW",
                                                    "TUTTI_BACKEND"};

Config config_in(std::string_view input) {
  Config config;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    const auto name = std::ranges::find(kNames, line.substr(0, equals));
    if (name != kNames.end()) config.set(*name, line.substr(std::min(equals + 1, line.size())));
  }
  return config;
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or<Error>([&] {
    const Config config = config_in(input);
    const adapters::mpi::Rules rules(config);
    require(rules.key() == adapters::mpi::Rules(config).key(), "the key of equal settings differs");
    for (const OpTraits& row : kOpTraits) {
      for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 20, std::uint64_t{1} << 40}) {
        const bool takes = rules.takes(row.kind, TypeClass{}, bytes, nullptr);
        require(!takes || rules.may_take(row.kind), "a call is taken whose kind may not be taken");
        require(!takes || !is_message(row.kind), "a message is taken");
      }
      (void)rules.is_too_small(row.kind, std::numeric_limits<std::int64_t>::max());
    }
  });
}

}  // namespace tutti::fuzz
