! Heat in a rod, step by step, with sections around its parts; the calls are those of IBM's HPM.
! Run it and read heat.hpm.
program heat
   implicit none
#include "f_hpm.h"
   integer, parameter :: points = 200000, steps = 200
   double precision, allocatable :: now(:), next(:)
   integer :: step

   call f_hpminit(0, "heat")
   if (hpm_error_count > 0) call exit(4)

   call f_hpmstart(1, "set up")
   allocate (now(points), next(points))
   now = 0d0
   now(1) = 100d0
   next = now
   call f_hpmstop(1)

   call f_hpmstart(2, "all steps")
   do step = 1, steps
      call f_hpmtstart(3, "one step")
      next(2:points - 1) = now(2:points - 1) &
                           + 0.4d0*(now(1:points - 2) - 2d0*now(2:points - 1) + now(3:points))
      call f_hpmtstop(3)
      now = next
   end do
   call f_hpmstop(2)
   if (f_hpm_error()) call exit(4)

   call f_hpmterminate(0)
   print '(a, f8.4)', 'second point: ', now(2)
end program heat
