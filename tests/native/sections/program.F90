! The same in Fortran, by plain calls, as old programs make them.
program sections
   implicit none
#include "f_hpm.h"
   integer :: round
   double precision :: seconds
   integer(kind=8) :: counts(2)

   call f_hpminit(0, "program   ")
   call trace_begin()
   do round = 1, 3
      call all_kinds()
   end do
   call f_GetTimeAndCounters(1, seconds, counts)
   if (seconds <= 0d0 .or. counts(1) <= 0) stop 3
   call f_hpmGetCounters(counts)
   if (hpm_error_count > 0) call exit(4)
   if (f_hpm_error()) call exit(5)
   call f_hpmterminate(0)
   call trace_print()

contains

   subroutine start(id, parent)
      integer, intent(in) :: id, parent

      call trace_start(1, id, parent)
      if (parent == HPM_AUTO_PARENT) then
         call f_hpmtstart(id, "of a thread")
      else
         call f_hpmtstartx(id, parent, "of a thread")
      end if
      call trace_done()
   end subroutine start

   subroutine stop(id)
      integer, intent(in) :: id

      call trace_stop(1, id)
      call f_hpmtstop(id)
      call trace_done()
   end subroutine stop

   recursive subroutine descend(levels)
      integer, intent(in) :: levels

      call start(3, HPM_AUTO_PARENT)
      call trace_touch(levels)
      if (levels > 1) call descend(levels - 1)
      call stop(3)
   end subroutine descend

   subroutine all_kinds()
      call start(1, HPM_AUTO_PARENT)
      call trace_touch(3)
      call start(2, HPM_AUTO_PARENT)
      call trace_touch(5)
      call stop(2)
      call stop(1)
      call descend(4)
      call start(4, HPM_NO_PARENT)
      call trace_touch(2)
      call start(5, HPM_ONLY_EXCLUSIVE)
      call trace_touch(4)
      call stop(4)
      call trace_touch(8)
      call start(6, 4)
      call trace_touch(16)
      call stop(5)
      call stop(6)
      call trace_start(0, 7, HPM_AUTO_PARENT)
      call f_hpmstart(7, "of all threads")
      call trace_done()
      call trace_touch(21)
      call trace_start(0, 8, HPM_NO_PARENT)
      call f_hpmstartx(8, HPM_NO_PARENT, "of all threads")
      call trace_done()
      call trace_touch(22)
      call trace_stop(0, 8)
      call f_hpmstop(8)
      call trace_done()
      call trace_stop(0, 7)
      call f_hpmstop(7)
      call trace_done()
   end subroutine all_kinds
end program sections
