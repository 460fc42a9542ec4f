! Each task says who it is, and the sum of all ranks.
program hello
  use mpi
  implicit none
  integer :: task, tasks, sum, error

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, task, error)
  call MPI_Comm_size(MPI_COMM_WORLD, tasks, error)
  call MPI_Allreduce(task, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  write (*, '(a, i0, a, i0, a, i0)') 'task ', task, ' of ', tasks, ', sum ', sum
  call MPI_Finalize(error)
end program hello
