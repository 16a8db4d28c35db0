#include "faults.hpp"

#include <cstdio>
#include <cstdlib>

namespace tutti::test::fake_nccl {
namespace {

bool names(const char* variable, int rank) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::atoi(text) == rank;
}

bool names(const char* variable, int rank, int number) {
  const char* text = std::getenv(variable);
  int its_rank = -1;
  int its_number = -1;
  return text != nullptr && std::sscanf(text, "%d:%d", &its_rank, &its_number) == 2 && its_rank == rank &&
         its_number == number;
}

}  // namespace

int version() {
  const char* text = std::getenv("FAKE_NCCL_VERSION");
  return text != nullptr ? std::atoi(text) : NCCL_VERSION_CODE;
}

bool hangs_in_init(int rank) { return names("FAKE_NCCL_HANG_INIT", rank); }
bool fails_in_init(int rank) { return names("FAKE_NCCL_INIT_ERROR", rank); }
bool fails_at(int rank, int launch) { return names("FAKE_NCCL_ASYNC_ERROR", rank, launch); }
bool refuses_call(int rank, int call) { return names("FAKE_NCCL_CALL_ERROR", rank, call); }
bool dies_at(int rank, int launch) { return names("FAKE_NCCL_DIE", rank, launch); }

}  // namespace tutti::test::fake_nccl
