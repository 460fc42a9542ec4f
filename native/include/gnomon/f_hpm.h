! What Fortran programs that call libhpm include, by #include or INCLUDE, in fixed and free form:
! below IMPLICIT NONE, among the declarations. The module f_hpm says the same with interfaces.
      integer hpm_auto_parent, hpm_only_exclusive, hpm_no_parent
      parameter (hpm_auto_parent = -1)
      parameter (hpm_only_exclusive = -2)
      parameter (hpm_no_parent = -3)
      integer hpm_error_count
      common /hpm_error_count/ hpm_error_count
      logical f_hpm_error
      external f_hpm_error
      external f_hpminit, f_hpmterminate
      external f_hpmstart, f_hpmstartx, f_hpmstop
      external f_hpmtstart, f_hpmtstartx, f_hpmtstop
      external f_gettimeandcounters, f_hpmgetcounters
