// Prints the settings that it takes from its environment, for privileged_program_test.
#include <sys/auxv.h>

#include <cstdio>
#include <string>

#include "tutti/spi/environment.hpp"
#include "tutti/tutti.hpp"

int main() {
  const tutti::Config config;
  std::printf("secure=%d\n", getauxval(AT_SECURE) != 0 ? 1 : 0);
  std::printf("timeout from %s\n", std::string(config.source("TUTTI_TIMEOUT")).c_str());
  std::printf("modules from %s\n", std::string(config.source("TUTTI_MODULE_PATH")).c_str());
  std::printf("rank %s\n", tutti::spi::environment("RANK").value_or("hidden").c_str());
  try {
    std::printf("world of %d\n", tutti::world().size());
  } catch (const tutti::Error& error) {
    std::printf("%s: %s\n", std::string(name(error.code())).c_str(), error.what());
  }
  return 0;
}
