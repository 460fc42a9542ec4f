! The Fortran module against the library: every kind of procedure once, and that its types are C's.
module overflow_handler
   use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int64_t, c_ptr
   use gnomon, only: gn_overflow
   implicit none

contains

   ! Adds up what overflows stand for.
   subroutine add_weight(overflow, data) bind(c)
      type(gn_overflow), intent(in) :: overflow
      type(c_ptr), value :: data
      integer(c_int64_t), pointer :: total

      call c_f_pointer(data, total)
      if (overflow%event == 0 .and. overflow%address /= 0) total = total + overflow%weight
   end subroutine add_weight

end module overflow_handler

program test_fortran
   use, intrinsic :: iso_c_binding, only: c_funloc, c_int, c_int32_t, c_int64_t, c_loc, c_sizeof
   use overflow_handler, only: add_weight
   use gnomon
   implicit none

   integer(c_int) :: set, other, n, added, component
   integer(c_int32_t) :: code, codes(4)
   integer(c_int64_t) :: counts(2), totals(2), ns, turns
   type(gn_options) :: options
   type(gn_value) :: values(2)
   type(gn_event_info) :: event
   type(gn_component_info) :: about
   type(gn_overflow_info) :: overflow
   type(gn_estimate) :: total, part
   type(gn_profil) :: region(1)
   integer(c_int64_t), target :: weights
   integer(c_int32_t), target :: buckets(1)
   character(len=:), allocatable :: name

   call check(gn_version() > 0, 'version')
   call ok(gn_set_create(set), 'create')
   call check(set > 0, 'handle')
   call ok(gn_set_add(set, 'page-faults   '), 'add')
   call ok(gn_set_add_all(set, ['task-clock  '], added), 'add_all')
   call check(added == 1, 'added')
   call check(gn_set_size(set) == 2, 'size')
   call check(gn_set_name(set, 1_c_int) == 'task-clock', 'name')
   call check(gn_set_name(set, 7_c_int) == '', 'no name')

   call ok(gn_set_start(set), 'start')
   call check(iand(gn_set_state(set), GN_STATE_RUNNING) /= 0, 'state')
   call work(200)
   call ok(gn_set_read_at(set, counts, ns), 'read_at')
   call check(counts(1) >= 200 .and. counts(2) > 0, 'counts')
   call check(ns > 0, 'time stamp')
   call check(ns <= gn_real_ns(), 'time stamp')
   totals = 1000
   call ok(gn_set_accumulate(set, totals), 'accumulate')
   call check(totals(1) >= 1200, 'totals')
   call ok(gn_set_reset(set), 'reset')
   call ok(gn_set_read(set, counts), 'read')
   call check(counts(1) < totals(1), 'after a reset')
   call ok(gn_set_stop(set, counts), 'stop with counts')
   call ok(gn_set_values(set, values), 'values')
   call check(values(1)%raw == counts(1) .and. values(2)%raw == counts(2), 'raw')
   call check(values(1)%how == GN_HOW_COUNTED .and. values(1)%flags == 0, 'how')
   call check(gn_unit(values(1)) == '', 'no unit')
   call check(gn_unit(values(2)) == 'ns', 'unit')
   call check(values(2)%enabled_ns == values(2)%running_ns, 'times')

   ! Errors carry PAPI's names and a sentence.
   call check(gn_set_stop(set) == GN_ENOTRUN, 'stop of a stopped set')
   call check(gn_error_name(GN_ENOTRUN) == 'PAPI_ENOTRUN', 'name of an error')
   call check(len(gn_error_text(GN_ENOTRUN)) > 0, 'text of an error')
   call check(index(gn_message(), 'not running; ') > 0, 'message')
   call check(gn_set_add(set, 'no-such-event') == GN_ENOEVNT, 'no such event')
   call check(index(gn_message(), 'no-such-event') > 0, 'message names it')
   call check(gn_set_write(set, counts) == GN_ENOSUPP, 'write')
   call check(gn_set_detach(set) == GN_EINVAL, 'detach')
   call check(gn_set_attach(set, 1073741823_c_int, -1_c_int) == GN_ESYS, 'attach')

   ! Names and codes.
   n = 4
   call ok(gn_set_list(set, codes, n), 'list')
   call check(n == 2, 'listed')
   call ok(gn_code_event(codes(1), name), 'code_event')
   call check(name == 'page-faults', 'name of a code')
   call ok(gn_event_code('page-faults', code), 'event_code')
   call check(code == codes(1), 'code')
   call check(gn_preset_code('page-faults', code) == GN_ENOTPRESET, 'no preset')
   call ok(gn_event_describe('page-faults', event), 'describe')
   call check(gn_text(event%name) == 'page-faults', 'described name')
   call check(len(gn_text(event%description)) > 0, 'description')
   call check(event%code == codes(1) .and. event%natives == 1, 'described')
   call ok(gn_event_available('page-faults'), 'available')
   call ok(gn_preset_at(0_c_int, event), 'preset_at')
   call check(gn_preset_count() >= 110, 'presets')
   call check(index(gn_text(event%name), 'PAPI_') == 1, 'preset')
   call ok(gn_component_index('kernel', component), 'component_index')
   call ok(gn_component_describe(component, about), 'component_describe')
   call check(gn_text(about%name) == 'kernel', 'component')
   call check(gn_event_count(component) > 5, 'event_count')
   call ok(gn_event_at(component, 0_c_int, event), 'event_at')
   call check(component < gn_component_count(), 'component_count')
   call check(gn_component_disable('kernel') == GN_ENOINIT, 'disable too late')
   call check(gn_presets_load('/no/such/file') == GN_EINVAL, 'presets_load')

   ! Overflow and profiles.
   weights = 0
   call ok(gn_set_overflow(set, 'page-faults', 10_c_int64_t, GN_OVERFLOW_RANDOM, &
                           c_funloc(add_weight), c_loc(weights)), 'overflow')
   call ok(gn_set_start(set), 'start')
   call work(500)
   call ok(gn_set_stop(set, counts), 'stop')
   call check(weights <= counts(1) .and. weights > counts(1) - 16, 'weights')
   call ok(gn_set_overflow_info(set, 'page-faults', overflow), 'overflow_info')
   call check(overflow%threshold == 10 .and. overflow%kind == GN_OVERFLOW_FAST, 'info')
   call check(overflow%flags == GN_OVERFLOW_RANDOM .and. overflow%outside == 0, 'info')
   call ok(gn_set_overflow(set, 'page-faults', 0_c_int64_t), 'end of an overflow')
   buckets = 0
   region(1)%buckets = c_loc(buckets)
   region(1)%size = c_sizeof(buckets)
   region(1)%scale = 2
   call ok(gn_set_sprofil(set, 'page-faults', region, 10_c_int64_t, GN_PROFIL_BUCKET_32), 'sprofil')
   call ok(gn_set_profil(set, 'page-faults', c_loc(buckets), c_sizeof(buckets), 0_c_int64_t, &
                         2_c_int32_t, 10_c_int64_t, GN_PROFIL_BUCKET_32), 'profil')
   call ok(gn_set_start(set), 'start')
   call work(500)
   call ok(gn_set_stop(set, counts), 'stop')
   call check(buckets(1) == counts(1)/10, 'buckets')
   call ok(gn_set_estimate(set, 'page-faults', total), 'estimate')
   call check(abs(total%value - real(counts(1), kind(total%value))) <= total%error, 'bound')
   call ok(gn_estimate_part(total, total%samples/2, part), 'part')
   call check(part%value < total%value .and. part%error > 0, 'part')
   call check(gn_component_overflow(component) == GN_OVERFLOW_FAST, 'component_overflow')

   ! Options.
   call ok(gn_set_remove(set, 'task-clock'), 'remove')
   call ok(gn_set_clear(set), 'clear')
   call ok(gn_set_destroy(set), 'destroy')
   call check(set == GN_SET_NULL, 'handle is void')
   options%domain = 64
   call check(gn_set_create(other, options) == GN_EINVAL_DOM, 'domain')
   options%domain = GN_DOMAIN_USER
   options%multiplex = 1
   options%slice_ns = GN_SLICE_MIN_NS
   options%limit = 1
   call ok(gn_set_create(other, options), 'create with options')
   call ok(gn_set_add(other, '{page-faults, minor-faults}'), 'add a group')
   call ok(gn_set_add_code(other, codes(2)), 'add by code')
   call check(iand(gn_set_state(other), GN_STATE_ROTATING) /= 0, 'takes turns')
   call ok(gn_set_start(other), 'start')
   call ok(gn_set_turns(other, turns), 'turns')
   call check(turns >= 1, 'a turn')
   call ok(gn_set_stop(other), 'stop')
   call ok(gn_set_clear(other), 'clear')
   call ok(gn_set_multiplex(other, 0_c_int64_t), 'multiplex')
   call ok(gn_set_destroy(other), 'destroy')

   call check(gn_real_us() >= 0, 'real_us')
   call check(gn_virtual_ns() >= 0, 'virtual_ns')
   call check(gn_virtual_us() >= 0, 'virtual_us')
   if (gn_cycles_hz() > 0) then
      call check(gn_real_cycles() > 0, 'real_cycles')
      call check(gn_virtual_cycles() > 0, 'virtual_cycles')
   end if
   deallocate (name)
   print '(a)', 'the Fortran module works'

contains

   subroutine check(is_so, what)
      logical, intent(in) :: is_so
      character(len=*), intent(in) :: what

      if (is_so) return
      print '(2a)', 'not so: ', what
      print '(a)', gn_message()
      error stop 1
   end subroutine check

   subroutine ok(error, what)
      integer(c_int), intent(in) :: error
      character(len=*), intent(in) :: what

      call check(error == GN_OK, what//': '//gn_error_name(error))
   end subroutine ok

   ! Each page of new memory is a page fault.
   subroutine work(pages)
      integer, intent(in) :: pages
      integer(c_int64_t), allocatable, volatile :: memory(:)
      integer :: i

      allocate (memory(512*(pages + 1)))
      do i = 1, size(memory), 512
         memory(i) = i
      end do
   end subroutine work

end program test_fortran
