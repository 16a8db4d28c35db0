// Program that dispatch_benchmark measures: the same allreduce called directly and through tutti. An MPI program that
// passes its communicator to tutti, so that both call the same library on equal communicators.
//
// usage: dispatch_probe direct|tutti CALLS     prints nanoseconds per call
//        dispatch_probe both CALLS             for callgrind: loops of few calls and of CALLS more, both ways
#include "dispatch_probe.hpp"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tutti/mpi.hpp"
#include "tutti/tutti.hpp"

// callgrind collects these by name (--toggle-collect), so they must exist as functions with different first letters.
extern "C" {

[[gnu::noinline]] void direct_calls(long calls, const float* in, float* out, MPI_Comm comm) {
  for (long i = 0; i < calls; ++i) MPI_Allreduce(in, out, 4, MPI_FLOAT, MPI_SUM, comm);
}

[[gnu::noinline]] void tutti_calls(long calls, const float* in, float* out, const tutti::Communicator* comm) {
  for (long i = 0; i < calls; ++i) comm->allreduce(tutti::ConstBuffer(in, 4), tutti::Buffer(out, 4));
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view way = argv[1];
  const long calls = std::atol(argv[2]);
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int status = 0;
  try {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    const tutti::Communicator comm = tutti::mpi::communicator(MPI_COMM_WORLD);
    const float in[4] = {1, 2, 3, 4};
    float out[4] = {};
    // One call outside of the measurement, because the first use costs more.
    comm.allreduce(tutti::ConstBuffer(in, 4), tutti::Buffer(out, 4));
    MPI_Allreduce(in, out, 4, MPI_FLOAT, MPI_SUM, own);
    const auto begin = std::chrono::steady_clock::now();
    if (way == "both") {
      for (const long count : {kFewCalls, kFewCalls + calls}) {
        direct_calls(count, in, out, own);
        tutti_calls(count, in, out, &comm);
      }
    } else if (way == "direct") {
      direct_calls(calls, in, out, own);
    } else {
      tutti_calls(calls, in, out, &comm);
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
      std::printf("%.1f %s\n", time.count() / static_cast<double>(calls), std::string(comm.backend()).c_str());
    MPI_Comm_free(&own);
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
