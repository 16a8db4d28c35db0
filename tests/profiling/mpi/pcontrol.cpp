// Five allreduces, two of them between MPI_Pcontrol(0) and MPI_Pcontrol(1); MPI_Initialized before and after MPI.
#include <mpi.h>

int main(int count, char** arguments) {
  int flag = 1;
  MPI_Initialized(&flag);
  if (flag != 0) return 1;
  MPI_Init(&count, &arguments);
  int mine = 1;
  int sum = 0;
  for (int step = 0; step < 5; ++step) {
    if (step == 1) MPI_Pcontrol(0);
    if (step == 3) MPI_Pcontrol(1);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  MPI_Finalized(&flag);
  return flag == 1 ? 0 : 2;
}
