// A shared library that exports the bridge's symbol, but with another ABI number.
#include "bridge/ccl_bridge.hpp"

extern "C" [[gnu::visibility("default")]] const tutti::ccl::Bridge* tutti_ccl_bridge() {
  static tutti::ccl::Bridge other{};
  other.abi = tutti::ccl::kBridgeAbi + 1;
  return &other;
}
