// A shared object with a bridge's symbol, but of another build.
#include "bridge/ccl_bridge.hpp"

extern "C" [[gnu::visibility("default")]] const tutti::ccl::Bridge* tutti_ccl_bridge() {
  static tutti::ccl::Bridge other{};
  other.abi = tutti::ccl::kBridgeAbi + 1;
  return &other;
}
