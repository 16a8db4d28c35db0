// Times of MPI_Allreduce in the columns of IMB-MPI1: bytes, repetitions, least, greatest and average time of the ranks
// in microseconds. Usage: allreduce_times LOG2-OF-FIRST-SIZE LOG2-OF-LAST-SIZE.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  if (count != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int first = std::atoi(arguments[1]);
  const int last = std::atoi(arguments[2]);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<float> in((std::size_t{1} << last) / sizeof(float), 1.0F);
  std::vector<float> out(in.size());
  for (int log = first; log <= last; ++log) {
    const long bytes = 1L << log;
    const int elements = static_cast<int>(bytes / static_cast<long>(sizeof(float)));
    const int repetitions = static_cast<int>(std::clamp(200'000'000L / bytes, 5L, 1000L));
    constexpr int kWarmUps = 4;
    double begin = 0;
    for (int index = -kWarmUps; index < repetitions; ++index) {
      if (index == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
      }
      MPI_Allreduce(in.data(), out.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    const double mine = (MPI_Wtime() - begin) / repetitions * 1e6;
    double least = 0;
    double greatest = 0;
    double sum = 0;
    MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &greatest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (out[static_cast<std::size_t>(elements) - 1] != static_cast<float>(size)) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0) std::printf("%ld %d %.2f %.2f %.2f\n", bytes, repetitions, least, greatest, sum / size);
  }
  MPI_Finalize();
}
