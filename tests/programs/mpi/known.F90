! What known.c does, in Fortran: 1000 calls of getsid(2) times the rank plus one.
program known
  use mpi
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
#ifdef WITH_HPM
#include "f_hpm.h"
#endif
  interface
    function getsid(process) bind(c) result(session)
      import :: c_int
      integer(c_int), value :: process
      integer(c_int) :: session
    end function getsid
  end interface
  integer :: task, tasks, total, error, i

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, task, error)
  call MPI_Comm_size(MPI_COMM_WORLD, tasks, error)
#ifdef WITH_HPM
  call f_hpminit(task, "known")
  call f_hpmstart(1, "work")
#endif
  do i = 1, 1000 * (task + 1)
    if (getsid(0_c_int) < 0) error stop 1
  end do
#ifdef WITH_HPM
  call f_hpmstop(1)
  call f_hpmstart(2, "exchange")
#endif
  call MPI_Allreduce(task, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
#ifdef WITH_HPM
  call f_hpmstop(2)
  call f_hpmterminate(task)
#endif
  if (total /= tasks * (tasks - 1) / 2) error stop 1
  call MPI_Finalize(error)
end program known
