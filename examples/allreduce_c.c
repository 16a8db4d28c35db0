/* The C interface: the maximum over all ranks. */
#include <stdio.h>

#include "tutti/tutti.h"

int main(void) {
  tutti_comm_t comm = NULL;
  if (tutti_world(NULL, &comm) != TUTTI_OK) {
    fprintf(stderr, "%s\n", tutti_last_error());
    return 1;
  }
  const double mine = tutti_comm_rank(comm) * 1.5;
  double most = 0;
  if (tutti_allreduce(&mine, &most, 1, TUTTI_FLOAT64, TUTTI_MAX, comm, NULL) != TUTTI_OK) {
    fprintf(stderr, "%s\n", tutti_last_error());
    tutti_comm_free(comm);
    return 1;
  }
  printf("rank %d of %d: maximum %g\n", tutti_comm_rank(comm), tutti_comm_size(comm), most);
  tutti_comm_free(comm);
  return 0;
}
