! A matrix times a vector, row by row: against the order of the memory, so it misses.
subroutine product_of(n, a, x, y)
  implicit none
  integer, intent(in) :: n
  real(8), intent(in) :: a(n, n), x(n)
  real(8), intent(out) :: y(n)
  integer :: i, j

  do i = 1, n
    y(i) = 0
    do j = 1, n
      y(i) = y(i) + a(i, j) * x(j)
    end do
  end do
end subroutine product_of
