// Times of MPI_Allreduce in the columns of IMB-MPI1: bytes, repetitions, least, greatest and average time of the ranks
// in microseconds. Usage: allreduce_times LOG2-OF-FIRST-SIZE LOG2-OF-LAST-SIZE [issued], the last for MPI_Iallreduce
// and MPI_Wait with MPI_THREAD_MULTIPLE.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

void allreduce(const std::vector<float>& in, std::vector<float>& out, int elements, bool issues) {
  if (!issues) {
    MPI_Allreduce(in.data(), out.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(in.data(), out.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int count, char** arguments) {
  const bool issues = count == 4 && std::string_view(arguments[3]) == "issued";
  int level = 0;
  MPI_Init_thread(&count, &arguments, issues ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  if (count != 3 && !issues) MPI_Abort(MPI_COMM_WORLD, 2);
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
      allreduce(in, out, elements, issues);
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
