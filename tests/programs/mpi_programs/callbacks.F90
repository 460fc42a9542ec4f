! Calls that MPI makes back, and several receives that are complete at once.
module operations
  use mpi_f08
  implicit none
contains
  subroutine add(in, inout, n, kind)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: n, bytes
    type(MPI_Datatype) :: kind
    integer, pointer :: a(:), b(:)
    call MPI_Type_size(kind, bytes)
    call c_f_pointer(in, a, [n])
    call c_f_pointer(inout, b, [n])
    b = a + b
  end subroutine
end module

program callbacks
  use mpi_f08
  use operations
  implicit none
  integer :: rank, ranks, i, n_done, done, indices(3), total(1), own(1), numbers(8)
  integer :: in1(1), in2(2), in4(4)
  type(MPI_Op) :: operation
  type(MPI_Request) :: requests(3)
  type(MPI_Status) :: statuses(3)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Op_create(add, .true., operation)
  own = rank
  do i = 1, 10
    call MPI_Allreduce(own, total, 1, MPI_INTEGER, operation, MPI_COMM_WORLD)
  end do
  numbers = rank
  call MPI_Irecv(in1, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(in2, 2, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Irecv(in4, 4, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, requests(3))
  call MPI_Send(numbers, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
  call MPI_Send(numbers, 2, MPI_INTEGER, rank, 2, MPI_COMM_WORLD)
  call MPI_Send(numbers, 4, MPI_INTEGER, rank, 3, MPI_COMM_WORLD)
  done = 0
  do while (done < 3)
    call MPI_Waitsome(3, requests, n_done, indices, statuses)
    done = done + n_done
  end do
  print *, total(1) == ranks * (ranks - 1) / 2
  call MPI_Op_free(operation)
  call MPI_Finalize()
end program
