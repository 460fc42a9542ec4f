! Counts events around a matrix product. An event that cannot be counted here is said so, and the
! others are counted.
program multiply
   use, intrinsic :: iso_c_binding, only: c_int, c_int64_t
   use, intrinsic :: iso_fortran_env, only: error_unit
   use gnomon
   implicit none

   integer, parameter :: n = 400
   character(len=12), parameter :: events(4) = &
      [character(len=12) :: 'PAPI_TOT_INS', 'PAPI_TOT_CYC', 'task-clock', 'page-faults']
   real, allocatable :: a(:, :), b(:, :), c(:, :)
   type(gn_value) :: values(size(events))
   integer(c_int64_t) :: begin
   integer(c_int) :: set
   integer :: i

   call must(gn_set_create(set))
   do i = 1, size(events)
      if (gn_set_add(set, events(i)) /= GN_OK) write (error_unit, '(2a)') 'multiply: ', gn_message()
   end do

   allocate (a(n, n), b(n, n), c(n, n))
   call random_number(a)
   call random_number(b)
   begin = gn_real_ns()
   call must(gn_set_start(set))
   c = matmul(a, b)
   call must(gn_set_stop(set))
   print '(f20.6, a)', 1e-9*real(gn_real_ns() - begin), ' s   wall time'

   call must(gn_set_values(set, values))
   do i = 1, gn_set_size(set)
      if (iand(values(i)%flags, GN_VALUE_MISSING) /= 0) then
         print '(a20, 5x, a)', 'not measured', gn_set_name(set, int(i - 1, c_int))
      else
         print '(f20.0, 1x, a3, 1x, a)', values(i)%value, gn_unit(values(i)), &
            gn_set_name(set, int(i - 1, c_int))
      end if
   end do
   call must(gn_set_clear(set))
   call must(gn_set_destroy(set))
   if (sum(c) <= 0) error stop 1

contains

   subroutine must(error)
      integer(c_int), intent(in) :: error

      if (error == GN_OK) return
      write (error_unit, '(4a)') 'multiply: ', gn_error_name(error), ': ', gn_message()
      error stop 1
   end subroutine must

end program multiply
