#pragma once

#include <string>

namespace tutti {

/// The place in the program that has called tutti, as far as it is known: the nearest frame of the calling thread's
/// stack that is not in a library of tutti's own. "app+0x12f4 (train_step)", or "app+0x12f4" for a function without a
/// dynamic symbol; `addr2line -e app 0x12f4` gives the line. Empty if it cannot be told. For errors: it takes
/// microseconds.
[[nodiscard]] std::string call_site();

}  // namespace tutti
