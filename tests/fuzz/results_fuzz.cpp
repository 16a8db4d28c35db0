// Results of sweeps as JSON, of this version and of the first.
#include <array>
#include <string>

#include "fuzz.hpp"
#include "results/results_csv.hpp"
#include "results/results_json.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 3> kSeeds = {
    R"({"schema": "tutti-sweep", "version": 2, "head": {"tutti": "0.1", "cores": 2, "settings": ["seed=7"]},
"device": "host", "dtype": "float32", "ranks": 2, "ops": ["allreduce"], "sizes": [1024],
"backends": [{"backend": "native", "launcher": ["a"], "processes": 2}],
"unusable": [{"backend": "ccl", "reason": "not there"}],
"rows": [{"op": "allreduce", "bytes": 1024, "in_place": true, "dtype": "int8", "backend": "native", "ranks": 2,
"status": "ok", "time_us_p50": 1.5, "run_medians_us": [1.5, 2], "counted_calls": 3, "host_calls": 4,
"served_by": "native", "staged": false, "note": "n"}]})",
    R"({"backends": [], "rows": [{"op": "reduce_scatterv", "bytes": 8, "backend": "mpi:intel", "device": "sycl:0",
"ranks": 1, "status": "crashed", "time_us_p50": null, "device_calls": null}]})",
    R"({"rows": []})"};
constexpr std::array<std::string_view, 18> kWords = {
    "null",      "true", "-1",     "1e400",   "18446744073709551616", "[",   "]",       "{",
    "}",         "\"\"", "\"ok\"", "\"ops\"", "\"version\"",          ": 2", "\\u0000", "\xff",
    "allgather", ","};

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  expect_value_or<Error>([&] {
    const tools::SweepResults results = tools::results_from_json(input, "input");
    const std::string text = tools::to_json(results);
    require(tools::to_json(tools::results_from_json(text, "printed")) == text,
            "results are others after they were printed");
    (void)tools::to_csv(results);
  });
}

}  // namespace tutti::fuzz
