// A program of NCCL in C: nccl_program RANK SIZE FILE. Rank 0 writes the unique id to the file. Prints the sum of the
// ranks and the version of the library.
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    ncclResult_t result = call;                                                      \
    if (result != ncclSuccess) {                                                     \
      fprintf(stderr, "%s: %s: %s\n", #call, ncclGetErrorString(result), ncclGetLastError(NULL)); \
      return 1;                                                                      \
    }                                                                                \
  } while (0)

static int write_id(const char* path) {
  ncclUniqueId id;
  char temporary[4096];
  CHECK(ncclGetUniqueId(&id));
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE* file = fopen(temporary, "wb");
  if (file == NULL || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) != 0) return 1;
  return rename(temporary, path);
}

static int read_id(const char* path, ncclUniqueId* id) {
  const struct timespec pause = {0, 1000000};
  FILE* file;
  while ((file = fopen(path, "rb")) == NULL) nanosleep(&pause, NULL);
  const int read = fread(id, sizeof *id, 1, file) == 1;
  fclose(file);
  return read ? 0 : 1;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const int rank = atoi(arguments[1]), size = atoi(arguments[2]);
  int version = 0, sum = rank + 1;
  ncclUniqueId id;
  ncclComm_t comm;
  if (rank == 0 && write_id(arguments[3]) != 0) return 1;
  if (read_id(arguments[3], &id) != 0) return 1;
  CHECK(ncclGetVersion(&version));
  CHECK(ncclCommInitRank(&comm, size, id, rank));
  CHECK(ncclAllReduce(&sum, &sum, 1, ncclInt32, ncclSum, comm, NULL));
  CHECK(ncclCommFinalize(comm));
  CHECK(ncclCommDestroy(comm));
  printf("rank %d of %d: %d with NCCL %d\n", rank, size, sum, version);
  return 0;
}
