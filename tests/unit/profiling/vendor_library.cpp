// A library of somebody else that allocates.
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) void allocate_blocks(int count) {
  for (int i = 0; i < count; ++i) {
    void* volatile kept = std::malloc(48);
    (void)kept;
  }
}
