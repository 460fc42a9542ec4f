! Calls of MPI whose numbers and bytes are known, from Fortran, for two ranks: by mpif.h, with MODULE_MPI
! by `use mpi`, with MODULE_F08 by `use mpi_f08`. Rank 0 prints "ok" if all data was right.
#if defined(MODULE_F08)
#define HANDLE(kind) type(kind)
#define STATUS type(MPI_Status)
#define DIMENSIONS
#else
#define HANDLE(kind) integer
#define STATUS integer
#define DIMENSIONS (MPI_STATUS_SIZE)
#endif
program fortran_calls
#if defined(MODULE_F08)
  use mpi_f08
#elif defined(MODULE_MPI)
  use mpi
#endif
  implicit none
#if !defined(MODULE_F08) && !defined(MODULE_MPI)
  include 'mpif.h'
#endif
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
  integer :: first, rank, ranks, other, error, i, n, position, indices(3)
  integer :: numbers(40), got(40), counts(2), places(2)
  logical :: flag, right
  double precision :: begun
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  HANDLE(MPI_Request) :: requests(80), persistent
  STATUS :: state DIMENSIONS

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Get_library_version(version, n, error)
  first = 1
#if defined(MODULE_F08)
  ! Indices of mpi_f08 are those of C in MPICH 4.0.
  if (index(version, 'MPICH') > 0) first = 0
#endif
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  other = 1 - rank
  numbers = rank
  right = .true.

  if (rank == 0) then
    call MPI_Send(numbers, 5, MPI_INTEGER, other, 1, MPI_COMM_WORLD, error)
    call MPI_Recv(got, 40, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  else
    call MPI_Recv(got, 40, MPI_INTEGER, other, 1, MPI_COMM_WORLD, state, error)
    call MPI_Get_count(state, MPI_INTEGER, n, error)
  call check(1, n == 5)
    call MPI_Send(numbers, 5, MPI_INTEGER, other, 1, MPI_COMM_WORLD, error)
  end if
  call check(2, got(5) == other)

  do i = 1, 40
    call MPI_Irecv(got(i), 1, MPI_INTEGER, other, i, MPI_COMM_WORLD, requests(i), error)
    call MPI_Isend(numbers(i), 1, MPI_INTEGER, other, i, MPI_COMM_WORLD, requests(40 + i), error)
  end do
  call MPI_Waitall(80, requests, MPI_STATUSES_IGNORE, error)
  call check(3, all(got == other))

  call MPI_Irecv(got, 3, MPI_INTEGER, other, 50, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send(numbers, 3, MPI_INTEGER, other, 50, MPI_COMM_WORLD, error)
  call MPI_Waitany(1, requests, position, MPI_STATUS_IGNORE, error)
  call check(4, position == first)

  call MPI_Irecv(got, 4, MPI_INTEGER, other, 51, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send(numbers, 4, MPI_INTEGER, other, 51, MPI_COMM_WORLD, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Waitsome(1, requests, n, indices, MPI_STATUSES_IGNORE, error)
  call check(5, n == 1 .and. indices(1) == first)

  call MPI_Irecv(got, 1, MPI_INTEGER, other, 52, MPI_COMM_WORLD, requests(1), error)
  call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, error)
  call check(6, .not. flag)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Send_init(numbers, 1, MPI_INTEGER, other, 52, MPI_COMM_WORLD, persistent, error)
  call MPI_Start(persistent, error)
  call MPI_Wait(persistent, MPI_STATUS_IGNORE, error)
  call MPI_Wait(requests(1), state, error)
  call MPI_Request_free(persistent, error)

  got(1) = rank
  call MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call check(7, got(1) == 1)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, got, 3, MPI_INTEGER, MPI_COMM_WORLD, error)
  counts = (/ 1, 2 /)
  places = (/ 0, 1 /)
  call MPI_Allgatherv(numbers, counts(rank + 1), MPI_INTEGER, got, counts, places, MPI_INTEGER, &
                      MPI_COMM_WORLD, error)
  call MPI_Bcast(got, 7, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  begun = MPI_Wtime()
  call MPI_Get_processor_name(name, n, error)
  call check(8, n > 0 .and. begun >= 0 .and. name(1:1) /= ' ')
#if defined(MODULE_F08)
  call MPI_Barrier(MPI_COMM_WORLD)
#else
  call MPI_Barrier(MPI_COMM_WORLD, error)
#endif
  if (right .and. rank == 0) print '(a)', 'ok'
  call MPI_Finalize(error)
  if (.not. right) stop 1
contains
  subroutine check(number, holds)
    integer, intent(in) :: number
    logical, intent(in) :: holds

    if (holds) return
    right = .false.
    print '(a,i0,a,i0)', 'rank ', rank, ': wrong at check ', number
  end subroutine check
end program fortran_calls
