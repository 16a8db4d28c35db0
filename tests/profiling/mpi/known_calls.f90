! Makes a known number of calls, with mpif.h's interface (module mpi) and prints nothing unless a result is wrong.
program known_calls
  use mpi
  implicit none
  integer :: ierr, rank, ranks, step, comm, request, row
  integer :: values(100), sums(100), all(400), counts(4), places(4)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  values = rank + 1
  do step = 1, 5
    call MPI_Allreduce(values, sums, 10 * step, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (sums(1) /= ranks * (ranks + 1) / 2) print *, 'wrong sum'
  end do
  sums = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, sums, 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  counts = 3
  places = (/ 0, 10, 20, 30 /)
  all = rank
  call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  if (all(11) /= 1) print *, 'wrong gather'
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, comm, ierr)
  call MPI_Bcast(values, 4, MPI_DOUBLE_PRECISION, 0, comm, ierr)
  call MPI_Ibarrier(comm, request, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Comm_free(comm, ierr)
  call MPI_Type_vector(3, 2, 5, MPI_INTEGER, row, ierr)
  call MPI_Type_commit(row, ierr)
  call MPI_Sendrecv(values, 2, row, mod(rank + 1, ranks), 0, all, 2, row, &
                    mod(rank + ranks - 1, ranks), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Type_free(row, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(values, 1, MPI_INTEGER, ranks + 5, 0, MPI_COMM_WORLD, ierr)
  if (ierr == MPI_SUCCESS) print *, 'no error'
  call MPI_Finalize(ierr)
end program known_calls
