// Program that dispatch_benchmark measures: an allreduce of native, called through a communicator of native and through
// one of auto that has two leaves. One rank is enough: what native does is the same in both.
//
// usage: dispatch_probe_auto direct|tutti CALLS     prints nanoseconds per call
//        dispatch_probe_auto both CALLS             for callgrind: loops of few calls and of CALLS more, both ways
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "dispatch_probe.hpp"
#include "tutti/tutti.hpp"

// callgrind collects these by name (--toggle-collect), so they must exist as functions with different first letters.
extern "C" {

[[gnu::noinline]] void direct_calls(long calls, const float* in, float* out, const tutti::Communicator* comm) {
  for (long i = 0; i < calls; ++i) comm->allreduce(tutti::ConstBuffer(in, 4), tutti::Buffer(out, 4));
}

[[gnu::noinline]] void tutti_calls(long calls, const float* in, float* out, const tutti::Communicator* comm) {
  for (long i = 0; i < calls; ++i) comm->allreduce(tutti::ConstBuffer(in, 4), tutti::Buffer(out, 4));
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view way = argv[1];
  const long calls = std::atol(argv[2]);
  try {
    tutti::Config config;
    config.set("TUTTI_MODULE_PATH", TUTTI_PROBE_MODULES).set("TUTTI_TUNING", "none");
    config.set("TUTTI_BACKEND", "native");
    const auto native = tutti::local_group(1, {.config = config});
    config.set("TUTTI_BACKEND", "auto").set("TUTTI_PIN", "allreduce:1K-=minimal");
    const auto routed = tutti::local_group(1, {.config = config});
    if (routed[0].backend() != "auto") return 1;
    const float in[4] = {1, 2, 3, 4};
    float out[4] = {};
    direct_calls(1, in, out, native.data());
    tutti_calls(1, in, out, routed.data());
    const auto begin = std::chrono::steady_clock::now();
    if (way == "both") {
      for (const long count : {kFewCalls, kFewCalls + calls}) {
        direct_calls(count, in, out, native.data());
        tutti_calls(count, in, out, routed.data());
      }
    } else if (way == "direct") {
      direct_calls(calls, in, out, native.data());
    } else {
      tutti_calls(calls, in, out, routed.data());
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    std::printf("%.1f %s\n", time.count() / static_cast<double>(calls), std::string(routed[0].backend()).c_str());
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
