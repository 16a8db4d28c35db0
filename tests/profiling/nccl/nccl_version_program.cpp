// Asks the real NCCL for its version, as a program that is linked to it does: nccl_version_program LIBRARY
#include <dlfcn.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2 || dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: nccl_version_program LIBRARY");
    return 2;
  }
  // The first definition, as the loader would bind it.
  auto* ask = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  int version = 0;
  if (ask == nullptr || ask(&version) != 0) return 1;
  std::printf("version %d\n", version);
  return 0;
}
