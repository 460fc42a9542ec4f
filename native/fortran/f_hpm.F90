! libhpm with interfaces, so that the compiler checks the arguments. Names and meanings are those of
! libhpm.h; the procedures are those that plain calls reach, too.
module f_hpm
   use, intrinsic :: iso_c_binding, only: c_double, c_int, c_long_long
   implicit none
   private

   integer, parameter, public :: HPM_AUTO_PARENT = -1
   integer, parameter, public :: HPM_ONLY_EXCLUSIVE = -2
   integer, parameter, public :: HPM_NO_PARENT = -3

   integer(c_int), bind(C, name='hpm_error_count'), public :: hpm_error_count

   public :: f_hpminit, f_hpmterminate
   public :: f_hpmstart, f_hpmstartx, f_hpmstop
   public :: f_hpmtstart, f_hpmtstartx, f_hpmtstop
   public :: f_gettimeandcounters, f_hpmgetcounters, f_hpm_error

   interface
      subroutine f_hpminit(taskid, progname)
         integer, intent(in) :: taskid
         character(len=*), intent(in) :: progname
      end subroutine f_hpminit

      subroutine f_hpmterminate(taskid)
         integer, intent(in) :: taskid
      end subroutine f_hpmterminate

      subroutine f_hpmstart(instid, label)
         integer, intent(in) :: instid
         character(len=*), intent(in) :: label
      end subroutine f_hpmstart

      subroutine f_hpmstartx(instid, par_id, label)
         integer, intent(in) :: instid, par_id
         character(len=*), intent(in) :: label
      end subroutine f_hpmstartx

      subroutine f_hpmstop(instid)
         integer, intent(in) :: instid
      end subroutine f_hpmstop

      subroutine f_hpmtstart(instid, label)
         integer, intent(in) :: instid
         character(len=*), intent(in) :: label
      end subroutine f_hpmtstart

      subroutine f_hpmtstartx(instid, par_id, label)
         integer, intent(in) :: instid, par_id
         character(len=*), intent(in) :: label
      end subroutine f_hpmtstartx

      subroutine f_hpmtstop(instid)
         integer, intent(in) :: instid
      end subroutine f_hpmtstop

      ! Seconds since f_hpminit, and the calling thread's first numcounters counts.
      subroutine f_gettimeandcounters(numcounters, time, values)
         import :: c_double, c_long_long
         integer, intent(in) :: numcounters
         real(c_double), intent(out) :: time
         integer(c_long_long), intent(out) :: values(numcounters)
      end subroutine f_gettimeandcounters

      ! As many as there are events.
      subroutine f_hpmgetcounters(values)
         import :: c_long_long
         integer(c_long_long), intent(inout) :: values(*)
      end subroutine f_hpmgetcounters

      logical function f_hpm_error()
      end function f_hpm_error
   end interface
end module f_hpm
