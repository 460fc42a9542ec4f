! Files of Fortran: direct access, stream access, formatted and unformatted sequential ones.
program fortran_files
   use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
   use, intrinsic :: iso_fortran_env, only: int32
   implicit none
   interface
      function access(path, mode) bind(c) result(status)
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: path(*)
         integer(c_int), value :: mode
         integer(c_int) :: status
      end function access
   end interface
   integer, parameter :: records = 100
   integer(int32) :: values(256), seen(256)
   integer :: unit, record, status, number
   character(len=32) :: line

   status = access('/gnomon-corpus-begin'//c_null_char, 0_c_int)
   open (newunit=unit, file='direct', access='direct', recl=1024, form='unformatted', action='readwrite')
   do record = records, 1, -1
      values = record
      write (unit, rec=record) values
   end do
   do record = 1, records, 7
      read (unit, rec=record) seen
      if (any(seen /= record)) error stop 'direct'
   end do
   close (unit)

   open (newunit=unit, file='stream', access='stream', form='unformatted', action='readwrite')
   do record = 1, records
      write (unit) record
   end do
   read (unit, pos=4*49 + 1) number
   if (number /= 50) error stop 'stream'
   inquire (unit, size=number)
   if (number /= 4*records) error stop 'size'
   close (unit)

   open (newunit=unit, file='lines', form='formatted', action='write')
   do record = 1, records
      write (unit, '(a, i6)') 'line', record
   end do
   flush (unit)
   close (unit)
   open (newunit=unit, file='lines', form='formatted', action='read', status='old')
   do record = 1, records
      read (unit, '(a)') line
      read (line(5:), *) number
      if (number /= record) error stop 'lines'
   end do
   rewind (unit)
   read (unit, '(a)') line
   if (line /= 'line     1') error stop 'rewind'
   close (unit)

   open (newunit=unit, file='sequential', form='unformatted', action='readwrite')
   write (unit) values
   write (unit) values(:10)
   backspace (unit)
   read (unit) seen(:10)
   close (unit)
   open (newunit=unit, file='absent', status='old', iostat=status)
   if (status == 0) error stop 'absent'
   open (newunit=unit, status='scratch', form='unformatted')
   write (unit) values
   close (unit)
   status = access('/gnomon-corpus-end'//c_null_char, 0_c_int)
   print '(a, i4, a)', 'fortran_files:', records, ' records'
end program fortran_files
