#include <stdexcept>

#include "sinks/timeline/timeline.hpp"

namespace tutti::profiling {

bool perfetto_built() noexcept { return false; }

void write_perfetto(const Profile&, const ByteSink&) {
  throw std::runtime_error(
      "Perfetto output is not part of this build, which had no libprotozero-dev; install it and build again, or use "
      "the JSON format of Chrome's trace viewer");
}

}  // namespace tutti::profiling
