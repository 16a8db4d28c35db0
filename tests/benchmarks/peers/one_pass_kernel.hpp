#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tutti::bench {

/// Kind of stores for the results: through the cache, or past it.
enum class Writes : std::uint8_t { plain, streaming };

/// Writes the sum of the inputs to every output, each of `count` elements; reads and writes each element once.
void one_pass(std::span<const float* const> inputs, std::span<float* const> outputs, std::size_t count, Writes stores);

/// Name of the vector instructions that it uses on this machine: "AVX2".
[[nodiscard]] std::string one_pass_unit();

}  // namespace tutti::bench
