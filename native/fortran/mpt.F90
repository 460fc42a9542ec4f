! libmpitrace with interfaces: what mpt.h has for C. IDs of routines are those of mpt_ids.h, whose
! first 45 are the HPM Toolkit's. A program that has MT_trace_event and its kin as functions of its
! own declares them with bind(C, name='MT_trace_event').
module mpt
   use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_int, &
                                          c_long, c_long_long, c_null_char, c_ptr
   implicit none
   private

   integer(c_int), parameter, public :: ALLMPI_ID = 0
   integer(c_int), parameter, public :: MT_COUNTS = 1, MT_BYTES = 2, MT_COMMUNICATIONTIME = 3
   integer(c_int), parameter, public :: MT_STACK = 4, MT_HEAP = 5, MT_MAXSTACKFUNC = 6
   integer(c_int), parameter, public :: MT_ELAPSEDTIME = 7, MT_AVGHOPS = 8

   integer(c_int), parameter, public :: ALLGATHER_ID = 1, ALLGATHERV_ID = 2, ALLREDUCE_ID = 3, &
                                        ALLTOALL_ID = 4
   integer(c_int), parameter, public :: ALLTOALLV_ID = 5, BARRIER_ID = 6, BCAST_ID = 7, BSEND_ID = 8
   integer(c_int), parameter, public :: BSEND_INIT_ID = 9, BUFFER_ATTACH_ID = 10, &
                                        BUFFER_DETACH_ID = 11, COMM_RANK_ID = 12
   integer(c_int), parameter, public :: GATHER_ID = 13, GATHERV_ID = 14, IBSEND_ID = 15, &
                                        IPROBE_ID = 16
   integer(c_int), parameter, public :: IRECV_ID = 17, IRSEND_ID = 18, ISEND_ID = 19, ISSEND_ID = 20
   integer(c_int), parameter, public :: PROBE_ID = 21, RECV_ID = 22, RECV_INIT_ID = 23, &
                                        REDUCE_ID = 24
   integer(c_int), parameter, public :: REDUCE_SCATTER_ID = 25, RSEND_ID = 26, RSEND_INIT_ID = 27, &
                                        SCATTER_ID = 28
   integer(c_int), parameter, public :: SCATTERV_ID = 29, SEND_ID = 30, SEND_INIT_ID = 31, &
                                        SENDRECV_ID = 32
   integer(c_int), parameter, public :: SENDRECV_REPLACE_ID = 33, SSEND_ID = 34, &
                                        SSEND_INIT_ID = 35, START_ID = 36
   integer(c_int), parameter, public :: STARTALL_ID = 37, TEST_ID = 38, TESTALL_ID = 39, &
                                        TESTANY_ID = 40
   integer(c_int), parameter, public :: TESTSOME_ID = 41, WAIT_ID = 42, WAITALL_ID = 43, &
                                        WAITANY_ID = 44
   integer(c_int), parameter, public :: WAITSOME_ID = 45

   ! Example 4-5: results are addresses, for c_f_pointer.
   type, bind(C), public :: MT_summarystruct
      integer(c_int) :: min_rank, max_rank, med_rank
      type(c_ptr) :: min_result, max_result, med_result, avg_result, sum_result
      type(c_ptr) :: all_result, sorted_all_result
      type(c_ptr) :: sorted_rank
   end type MT_summarystruct

   ! Example 4-6
   type, bind(C), public :: MT_envstruct
      integer(c_int) :: mpirank, xCoord, yCoord, zCoord, xSize, ySize, zSize, procid, ntasks
      real(c_double) :: clockHz
      integer(c_int) :: nmpi
   end type MT_envstruct

   ! Example 4-7
   type, bind(C), public :: MT_tracebufferstruct
      integer(c_int) :: number_events
      real(c_double) :: total_buffer, used_buffer, free_buffer
   end type MT_tracebufferstruct

   ! Example 4-8: texts are addresses of zero-terminated ones.
   type, bind(C), public :: MT_callerstruct
      type(c_ptr) :: filepath, filename, funcname
      integer(c_int) :: lineno
   end type MT_callerstruct

   ! Example 4-9
   type, bind(C), public :: MT_memorystruct
      integer(c_long) :: max_stack_address, min_stack_address, max_heap_address
   end type MT_memorystruct

   public :: MT_get_mpi_counts, MT_get_mpi_bytes, MT_get_mpi_time, MT_get_avg_hops
   public :: MT_get_time, MT_get_elapsed_time, MT_get_mpi_name, MT_get_tracebufferinfo
   public :: MT_get_calleraddress, MT_get_callerinfo, MT_get_environment, MT_get_allresults
   public :: MT_get_memoryinfo, MT_trace_start, MT_trace_stop

   interface
      function MT_get_mpi_counts(id) bind(C, name='MT_get_mpi_counts')
         import :: c_int, c_long_long
         integer(c_int), value :: id
         integer(c_long_long) :: MT_get_mpi_counts
      end function MT_get_mpi_counts

      function MT_get_mpi_bytes(id) bind(C, name='MT_get_mpi_bytes')
         import :: c_double, c_int
         integer(c_int), value :: id
         real(c_double) :: MT_get_mpi_bytes
      end function MT_get_mpi_bytes

      function MT_get_mpi_time(id) bind(C, name='MT_get_mpi_time')
         import :: c_double, c_int
         integer(c_int), value :: id
         real(c_double) :: MT_get_mpi_time
      end function MT_get_mpi_time

      function MT_get_avg_hops() bind(C, name='MT_get_avg_hops')
         import :: c_double
         real(c_double) :: MT_get_avg_hops
      end function MT_get_avg_hops

      function MT_get_time() bind(C, name='MT_get_time')
         import :: c_double
         real(c_double) :: MT_get_time
      end function MT_get_time

      function MT_get_elapsed_time() bind(C, name='MT_get_elapsed_time')
         import :: c_double
         real(c_double) :: MT_get_elapsed_time
      end function MT_get_elapsed_time

      function MT_get_mpi_name_c(id) bind(C, name='MT_get_mpi_name')
         import :: c_int, c_ptr
         integer(c_int), value :: id
         type(c_ptr) :: MT_get_mpi_name_c
      end function MT_get_mpi_name_c

      function MT_get_tracebufferinfo(info) bind(C, name='MT_get_tracebufferinfo')
         import :: c_int, MT_tracebufferstruct
         type(MT_tracebufferstruct), intent(out) :: info
         integer(c_int) :: MT_get_tracebufferinfo
      end function MT_get_tracebufferinfo

      function MT_get_calleraddress(level) bind(C, name='MT_get_calleraddress')
         import :: c_int, c_long
         integer(c_int), value :: level
         integer(c_long) :: MT_get_calleraddress
      end function MT_get_calleraddress

      function MT_get_callerinfo(address, info) bind(C, name='MT_get_callerinfo')
         import :: c_int, c_long, MT_callerstruct
         integer(c_long), value :: address
         type(MT_callerstruct), intent(out) :: info
         integer(c_int) :: MT_get_callerinfo
      end function MT_get_callerinfo

      subroutine MT_get_environment(environment) bind(C, name='MT_get_environment')
         import :: MT_envstruct
         type(MT_envstruct), intent(out) :: environment
      end subroutine MT_get_environment

      function MT_get_allresults(data_type, id, summary) bind(C, name='MT_get_allresults')
         import :: c_int, MT_summarystruct
         integer(c_int), value :: data_type, id
         type(MT_summarystruct), intent(out) :: summary
         integer(c_int) :: MT_get_allresults
      end function MT_get_allresults

      function MT_get_memoryinfo(info) bind(C, name='MT_get_memoryinfo')
         import :: c_int, MT_memorystruct
         type(MT_memorystruct), intent(out) :: info
         integer(c_int) :: MT_get_memoryinfo
      end function MT_get_memoryinfo

      subroutine MT_trace_start() bind(C, name='MT_trace_start')
      end subroutine MT_trace_start

      subroutine MT_trace_stop() bind(C, name='MT_trace_stop')
      end subroutine MT_trace_stop
   end interface

contains

   ! 'MPI_Send'; empty for what is no ID.
   function MT_get_mpi_name(id) result(name)
      integer(c_int), intent(in) :: id
      character(len=:), allocatable :: name
      character(kind=c_char), pointer :: text(:)
      type(c_ptr) :: address
      integer :: i

      name = ''
      address = MT_get_mpi_name_c(id)
      if (.not. c_associated(address)) return
      call c_f_pointer(address, text, [64])
      do i = 1, size(text)
         if (text(i) == c_null_char) exit
         name = name // text(i)
      end do
   end function MT_get_mpi_name
end module mpt
