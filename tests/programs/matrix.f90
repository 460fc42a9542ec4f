! Fortran: the trace of a product of two matrices.
program matrix
  implicit none
  integer, parameter :: n = 60
  real(8) :: a(n, n), b(n, n), c(n, n)
  integer :: i, j
  do j = 1, n
    do i = 1, n
      a(i, j) = i + 2 * j
      b(i, j) = i - j
    end do
  end do
  c = matmul(a, b)
  write (*, '(f14.1)') sum([(c(i, i), i = 1, n)])
  stop 5
end program matrix
