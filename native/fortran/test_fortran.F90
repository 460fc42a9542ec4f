program test_fortran
   use gnomon
end program test_fortran
