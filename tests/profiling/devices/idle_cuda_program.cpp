// Loads the source of CUDA as the CUDA driver does, and ends.
#include <dlfcn.h>

#include <cstdio>

int main(int, char** arguments) {
  void* source = dlopen(arguments[1], RTLD_NOW);
  if (source == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto initialise = reinterpret_cast<int (*)()>(dlsym(source, "InitializeInjection"));
  if (initialise == nullptr || initialise() != 1) return 1;
  std::puts("done");
  return 0;
}
