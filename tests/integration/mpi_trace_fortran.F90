! Asks libmpitrace through its module.
program mpi_trace_fortran
   use, intrinsic :: iso_c_binding
   use mpi
   use mpt
   implicit none
   integer :: rank, ierr, i, numbers(2), failed
   type(MT_summarystruct) :: summary
   type(MT_envstruct) :: environment
   integer(c_long_long), pointer :: total

   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   do i = 1, 3
      if (rank == 0) call MPI_Send([i, i], 2, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierr)
      if (rank == 1) call MPI_Recv(numbers, 2, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, &
                                   MPI_STATUS_IGNORE, ierr)
   end do
   call MT_get_environment(environment)
   failed = MT_get_allresults(MT_COUNTS, SEND_ID, summary)
   call c_f_pointer(summary%sum_result, total)
   print '(i0,1x,a,1x,i0,1x,f0.1,1x,i0,1x,i0)', rank, MT_get_mpi_name(SEND_ID), &
      MT_get_mpi_counts(SEND_ID), MT_get_mpi_bytes(SEND_ID), total, &
      merge(1, 0, environment%mpirank == rank .and. failed == 0)
   call MPI_Finalize(ierr)
end program mpi_trace_fortran
