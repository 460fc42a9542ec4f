C     Example 4-2: a program in fixed form, whose events are traced from
C     TRACE_START to TRACE_STOP (section 4.3.1) once there is a trace.
      program statusesf
      implicit none
      include 'mpif.h'
      integer ierr, rank, ranks, i
      integer requests(2), statuses(MPI_STATUS_SIZE, 2)
      double precision in(100), out(100)

      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
      do i = 1, 100
         out(i) = rank
      end do
      call trace_start()
      do i = 1, 10
         call MPI_Irecv(in, 100, MPI_DOUBLE_PRECISION,
     &        mod(rank + ranks - 1, ranks), 7, MPI_COMM_WORLD,
     &        requests(1), ierr)
         call MPI_Isend(out, 100, MPI_DOUBLE_PRECISION,
     &        mod(rank + 1, ranks), 7, MPI_COMM_WORLD,
     &        requests(2), ierr)
         call MPI_Waitall(2, requests, statuses, ierr)
      end do
      call trace_stop()
      call MPI_Finalize(ierr)
      end
