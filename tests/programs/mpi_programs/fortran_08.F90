! The same by mpi_f08 or, with -DOLD, by mpif.h: 10 sends and receives a rank, and some collectives.
program fortran_08
#ifdef OLD
   implicit none
   include 'mpif.h'
   integer :: request, status(MPI_STATUS_SIZE), half
#else
   use mpi_f08
   implicit none
   type(MPI_Request) :: request
   type(MPI_Status) :: status
   type(MPI_Comm) :: half
#endif
   integer :: rank, n_ranks, i, error
   double precision :: out(50), in(50)
   integer :: total, numbers(3)

   call MPI_Init(error)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
   call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, error)
   out = rank
   do i = 1, 10
      call MPI_Irecv(in, 50, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, request, error)
      call MPI_Send(out, 5*i, MPI_DOUBLE_PRECISION, mod(rank + 1, n_ranks), i, MPI_COMM_WORLD, error)
      call MPI_Wait(request, status, error)
   end do
   call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
   numbers = rank
   call MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_INTEGER, MPI_SUM, half, error)
   call MPI_Reduce(rank, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
   call MPI_Bcast(total, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
   call MPI_Barrier(MPI_COMM_WORLD, error)
   call MPI_Comm_free(half, error)
   if (rank == 0) print *, total, numbers(1), int(in(1))
   call MPI_Finalize(error)
end program fortran_08
