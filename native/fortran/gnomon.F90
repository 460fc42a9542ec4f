! Gnomon's event sets, presets and timers for Fortran 2008: a thin layer over gnomon/gnomon.h.
!
! Compile this file with the compiler of your program (its module files are its own affair) and
! link with libgnomon; `pkg-config --variable=fortran_source gnomon` says where it lies.
!
! Functions are those of C and return 0 or a negative error; gn_message() says what was wrong, why,
! and what to do. Names are passed as they are, without a zero byte; trailing blanks do not count.
! Indices of components, events and presets begin at 0, as in C.
module gnomon
   use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_funptr, &
      c_int, c_int32_t, c_int64_t, c_loc, c_null_char, c_null_funptr, c_null_ptr, c_ptr, c_size_t, &
      c_sizeof
   implicit none
   private

   integer(c_int), parameter, public :: GN_OK = 0, GN_EINVAL = -1, GN_ENOMEM = -2, &
      GN_ESYS = -3, GN_ECMP = -4, GN_ECLOST = -5, GN_EBUG = -6, GN_ENOEVNT = -7, &
      GN_ECNFLCT = -8, GN_ENOTRUN = -9, GN_EISRUN = -10, GN_ENOEVST = -11, &
      GN_ENOTPRESET = -12, GN_ENOCNTR = -13, GN_EMISC = -14, GN_EPERM = -15, &
      GN_ENOINIT = -16, GN_ENOCMP = -17, GN_ENOSUPP = -18, GN_ENOIMPL = -19, GN_EBUF = -20, &
      GN_EINVAL_DOM = -21, GN_EATTR = -22, GN_ECOUNT = -23, GN_ECOMBO = -24

   integer(c_int), parameter, public :: GN_DOMAIN_DEFAULT = 0, GN_DOMAIN_USER = 1, &
      GN_DOMAIN_KERNEL = 2, GN_DOMAIN_HYPERVISOR = 4, GN_DOMAIN_ALL = 7

   integer(c_int), parameter, public :: GN_GRANULARITY_THREAD = 0, GN_GRANULARITY_PROCESS = 1, &
      GN_GRANULARITY_PROCESS_GROUP = 2, GN_GRANULARITY_CPU = 3, GN_GRANULARITY_SYSTEM = 4

   integer(c_int), parameter, public :: GN_HOW_COUNTED = 0, GN_HOW_SCALED = 1

   integer(c_int), parameter, public :: GN_VALUE_MISSING = 1, GN_VALUE_DERIVED = 2, &
      GN_VALUE_NEGATIVE = 4, GN_VALUE_KERNEL_ONLY = 8, GN_VALUE_NARROWED = 16, GN_VALUE_SHORT = 32

   integer(c_int), parameter, public :: GN_STATE_STOPPED = 1, GN_STATE_RUNNING = 2, &
      GN_STATE_MULTIPLEXED = 4, GN_STATE_ROTATING = 8, GN_STATE_ATTACHED = 16

   integer(c_int), parameter, public :: GN_EVENT_HARDWARE = 1, GN_EVENT_TRACEPOINT = 2, &
      GN_EVENT_KERNEL_ONLY = 4, GN_EVENT_EVERY_MODE = 8, GN_EVENT_PRESET = 16, &
      GN_EVENT_MODIFIED = 32, GN_EVENT_CPU_WIDE = 64

   ! Flags of overflows and profiles, and how a component overflows.
   integer(c_int), parameter, public :: GN_OVERFLOW_SOFTWARE = 64, GN_OVERFLOW_DATA = 128, &
      GN_OVERFLOW_RANDOM = 1, GN_PROFIL_WEIGHTED = 2, GN_PROFIL_BUCKET_16 = 8, &
      GN_PROFIL_BUCKET_32 = 16, GN_PROFIL_BUCKET_64 = 32
   integer(c_int), parameter, public :: GN_OVERFLOW_IMPOSSIBLE = 0, GN_OVERFLOW_SLOW = 1, &
      GN_OVERFLOW_FAST = 2
   integer(c_int32_t), parameter, public :: GN_PROFIL_SCALE_MAX = 131072
   integer(c_int64_t), parameter, public :: GN_OVERFLOW_TICK_NS = 10000000_c_int64_t

   integer(c_int), parameter, public :: GN_SET_NULL = -1, GN_NAME_MAX = 256
   integer(c_int64_t), parameter, public :: GN_SLICE_MIN_NS = 10000000_c_int64_t, &
      GN_SLICE_DEFAULT_NS = 100000000_c_int64_t, GN_SLICE_MAX_NS = 30000000000_c_int64_t

   ! In an array of counts: the event was never on the counters.
   integer(c_int64_t), parameter, public :: GN_NO_COUNT = -huge(1_c_int64_t) - 1_c_int64_t

   ! How a set counts: type(gn_options) :: options, then only what is to be otherwise.
   type, bind(c), public :: gn_options
      integer(c_size_t) :: size = 0 ! gn_set_create fills it in
      integer(c_int) :: pid = 0
      integer(c_int) :: cpu = -1
      integer(c_int) :: domain = GN_DOMAIN_DEFAULT
      integer(c_int) :: granularity = GN_GRANULARITY_THREAD
      integer(c_int) :: inherit = 0
      integer(c_int) :: pinned = 0
      integer(c_int) :: exclusive = 0
      integer(c_int) :: multiplex = 0
      integer(c_int64_t) :: slice_ns = 0
      integer(c_int) :: limit = 0
   end type gn_options

   ! A count with all that is known about it; gn_unit() gives the unit as text.
   type, bind(c), public :: gn_value
      integer(c_int64_t) :: raw = 0
      integer(c_int64_t) :: enabled_ns = 0
      integer(c_int64_t) :: running_ns = 0
      real(c_double) :: scale = 0
      real(c_double) :: value = 0
      type(c_ptr) :: unit = c_null_ptr
      integer(c_int) :: domain = 0
      integer(c_int) :: how = 0
      integer(c_int) :: flags = 0
   end type gn_value

   ! What is known about an event; gn_text() makes text of its arrays of characters.
   type, bind(c), public :: gn_event_info
      integer(c_size_t) :: size = 0
      integer(c_int32_t) :: code = 0
      integer(c_int) :: flags = 0
      integer(c_int) :: component = 0
      integer(c_int) :: natives = 0
      character(kind=c_char) :: name(256) = c_null_char
      character(kind=c_char) :: unit(16) = c_null_char
      character(kind=c_char) :: kind(16) = c_null_char
      character(kind=c_char) :: formula(512) = c_null_char
      character(kind=c_char) :: definition(1024) = c_null_char
      character(kind=c_char) :: description(1024) = c_null_char
   end type gn_event_info

   type, bind(c), public :: gn_component_info
      integer(c_size_t) :: size = 0
      character(kind=c_char) :: name(32) = c_null_char
      character(kind=c_char) :: description(256) = c_null_char
      integer(c_int) :: counters = 0
      integer(c_int) :: is_disabled = 0
      character(kind=c_char) :: reason(512) = c_null_char
   end type gn_component_info

   ! What a handler is told: subroutine handler(overflow, data) bind(c), with the first of these by
   ! reference and type(c_ptr), value :: data. It runs as a signal handler, and may use no input or
   ! output and no allocation.
   type, bind(c), public :: gn_overflow
      integer(c_int) :: set = 0
      integer(c_int) :: event = 0
      integer(c_int64_t) :: address = 0
      integer(c_int64_t) :: data_address = 0
      integer(c_int64_t) :: weight = 0
      type(c_ptr) :: context = c_null_ptr
   end type gn_overflow

   ! A region of addresses: c_loc() of its buckets, and their size in bytes.
   type, bind(c), public :: gn_profil
      type(c_ptr) :: buckets = c_null_ptr
      integer(c_size_t) :: size = 0
      integer(c_int64_t) :: offset = 0
      integer(c_int32_t) :: scale = GN_PROFIL_SCALE_MAX
   end type gn_profil

   type, bind(c), public :: gn_overflow_info
      integer(c_size_t) :: size = 0
      integer(c_int64_t) :: threshold = 0
      integer(c_int) :: flags = 0
      integer(c_int) :: kind = 0
      integer(c_int) :: precise = 0
      integer(c_int) :: precise_wanted = 0
      integer(c_int) :: signal = 0
      integer(c_int64_t) :: overflows = 0
      integer(c_int64_t) :: lost = 0
      integer(c_int64_t) :: outside = 0
   end type gn_overflow_info

   type, bind(c), public :: gn_estimate
      real(c_double) :: value = 0
      real(c_double) :: error = 0
      real(c_double) :: weight = 0
      integer(c_int64_t) :: samples = 0
   end type gn_estimate

   public :: gn_version, gn_error_name, gn_error_text, gn_message, gn_text, gn_unit
   public :: gn_set_create, gn_set_add, gn_set_add_all, gn_set_add_code, gn_set_remove, &
      gn_set_size, gn_set_list, gn_set_name, gn_set_start, gn_set_stop, gn_set_read, &
      gn_set_read_at, gn_set_values, gn_set_accumulate, gn_set_reset, gn_set_write, &
      gn_set_state, gn_set_clear, gn_set_destroy, gn_set_attach, gn_set_detach, &
      gn_set_multiplex, gn_set_turns
   public :: gn_set_overflow, gn_set_profil, gn_set_sprofil, gn_set_overflow_info, &
      gn_set_estimate, gn_estimate_part, gn_component_overflow
   public :: gn_event_code, gn_code_event, gn_event_describe, gn_event_available, &
      gn_event_count, gn_event_at, gn_preset_count, gn_preset_at, gn_preset_code, &
      gn_presets_load, gn_component_count, gn_component_describe, gn_component_index, &
      gn_component_disable
   public :: gn_real_cycles, gn_real_ns, gn_real_us, gn_virtual_cycles, gn_virtual_ns, &
      gn_virtual_us, gn_cycles_hz

   ! Stops; the counts may be left out.
   interface gn_set_stop
      module procedure stop_without_counts
      module procedure stop_with_counts
   end interface gn_set_stop

   ! What needs no more than its C name.
   interface
      integer(c_int) function gn_version() bind(c, name='gn_version')
         import :: c_int
      end function gn_version

      integer(c_int) function gn_set_add_code(set, code) bind(c, name='gn_set_add_code')
         import :: c_int, c_int32_t
         integer(c_int), value :: set
         integer(c_int32_t), value :: code
      end function gn_set_add_code

      integer(c_int) function gn_set_size(set) bind(c, name='gn_set_size')
         import :: c_int
         integer(c_int), value :: set
      end function gn_set_size

      ! n: room in codes, then how many events the set has
      integer(c_int) function gn_set_list(set, codes, n) bind(c, name='gn_set_list')
         import :: c_int, c_int32_t
         integer(c_int), value :: set
         integer(c_int32_t), intent(out) :: codes(*)
         integer(c_int), intent(inout) :: n
      end function gn_set_list

      integer(c_int) function gn_set_start(set) bind(c, name='gn_set_start')
         import :: c_int
         integer(c_int), value :: set
      end function gn_set_start

      integer(c_int) function gn_set_read(set, counts) bind(c, name='gn_set_read')
         import :: c_int, c_int64_t
         integer(c_int), value :: set
         integer(c_int64_t), intent(inout) :: counts(*)
      end function gn_set_read

      integer(c_int) function gn_set_read_at(set, counts, ns) bind(c, name='gn_set_read_at')
         import :: c_int, c_int64_t
         integer(c_int), value :: set
         integer(c_int64_t), intent(inout) :: counts(*)
         integer(c_int64_t), intent(out) :: ns
      end function gn_set_read_at

      integer(c_int) function gn_set_values(set, values) bind(c, name='gn_set_values')
         import :: c_int, gn_value
         integer(c_int), value :: set
         type(gn_value), intent(inout) :: values(*)
      end function gn_set_values

      integer(c_int) function gn_set_accumulate(set, counts) bind(c, name='gn_set_accumulate')
         import :: c_int, c_int64_t
         integer(c_int), value :: set
         integer(c_int64_t), intent(inout) :: counts(*)
      end function gn_set_accumulate

      integer(c_int) function gn_set_reset(set) bind(c, name='gn_set_reset')
         import :: c_int
         integer(c_int), value :: set
      end function gn_set_reset

      integer(c_int) function gn_set_write(set, counts) bind(c, name='gn_set_write')
         import :: c_int, c_int64_t
         integer(c_int), value :: set
         integer(c_int64_t), intent(in) :: counts(*)
      end function gn_set_write

      integer(c_int) function gn_set_state(set) bind(c, name='gn_set_state')
         import :: c_int
         integer(c_int), value :: set
      end function gn_set_state

      integer(c_int) function gn_set_clear(set) bind(c, name='gn_set_clear')
         import :: c_int
         integer(c_int), value :: set
      end function gn_set_clear

      integer(c_int) function gn_set_destroy(set) bind(c, name='gn_set_destroy')
         import :: c_int
         integer(c_int), intent(inout) :: set
      end function gn_set_destroy

      integer(c_int) function gn_set_attach(set, pid, cpu) bind(c, name='gn_set_attach')
         import :: c_int
         integer(c_int), value :: set, pid, cpu
      end function gn_set_attach

      integer(c_int) function gn_set_detach(set) bind(c, name='gn_set_detach')
         import :: c_int
         integer(c_int), value :: set
      end function gn_set_detach

      ! slice_ns 0 is GN_SLICE_DEFAULT_NS
      integer(c_int) function gn_set_multiplex(set, slice_ns) bind(c, name='gn_set_multiplex')
         import :: c_int, c_int64_t
         integer(c_int), value :: set
         integer(c_int64_t), value :: slice_ns
      end function gn_set_multiplex

      integer(c_int) function gn_set_turns(set, turns) bind(c, name='gn_set_turns')
         import :: c_int, c_int64_t
         integer(c_int), value :: set
         integer(c_int64_t), intent(out) :: turns
      end function gn_set_turns

      integer(c_int) function gn_estimate_part(total, samples, part) &
         bind(c, name='gn_estimate_part')
         import :: c_int, c_int64_t, gn_estimate
         type(gn_estimate), intent(in) :: total
         integer(c_int64_t), value :: samples
         type(gn_estimate), intent(inout) :: part
      end function gn_estimate_part

      integer(c_int) function gn_component_overflow(component) &
         bind(c, name='gn_component_overflow')
         import :: c_int
         integer(c_int), value :: component
      end function gn_component_overflow

      integer(c_int) function gn_event_count(component) bind(c, name='gn_event_count')
         import :: c_int
         integer(c_int), value :: component
      end function gn_event_count

      integer(c_int) function gn_preset_count() bind(c, name='gn_preset_count')
         import :: c_int
      end function gn_preset_count

      integer(c_int) function gn_component_count() bind(c, name='gn_component_count')
         import :: c_int
      end function gn_component_count

      integer(c_int64_t) function gn_real_cycles() bind(c, name='gn_real_cycles')
         import :: c_int64_t
      end function gn_real_cycles

      integer(c_int64_t) function gn_real_ns() bind(c, name='gn_real_ns')
         import :: c_int64_t
      end function gn_real_ns

      integer(c_int64_t) function gn_real_us() bind(c, name='gn_real_us')
         import :: c_int64_t
      end function gn_real_us

      integer(c_int64_t) function gn_virtual_cycles() bind(c, name='gn_virtual_cycles')
         import :: c_int64_t
      end function gn_virtual_cycles

      integer(c_int64_t) function gn_virtual_ns() bind(c, name='gn_virtual_ns')
         import :: c_int64_t
      end function gn_virtual_ns

      integer(c_int64_t) function gn_virtual_us() bind(c, name='gn_virtual_us')
         import :: c_int64_t
      end function gn_virtual_us

      real(c_double) function gn_cycles_hz() bind(c, name='gn_cycles_hz')
         import :: c_double
      end function gn_cycles_hz
   end interface

   ! What text, options or descriptions go through: see the functions of the same purpose below.
   interface
      integer(c_int) function c_set_create(set, options) bind(c, name='gn_set_create')
         import :: c_int, c_ptr
         integer(c_int), intent(out) :: set
         type(c_ptr), value :: options
      end function c_set_create

      integer(c_int) function c_set_add(set, name) bind(c, name='gn_set_add')
         import :: c_char, c_int
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: name(*)
      end function c_set_add

      integer(c_int) function c_set_remove(set, name) bind(c, name='gn_set_remove')
         import :: c_char, c_int
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: name(*)
      end function c_set_remove

      integer(c_int) function c_set_stop(set, counts) bind(c, name='gn_set_stop')
         import :: c_int, c_ptr
         integer(c_int), value :: set
         type(c_ptr), value :: counts
      end function c_set_stop

      integer(c_int) function c_set_overflow(set, event, threshold, flags, handler, data) &
         bind(c, name='gn_set_overflow')
         import :: c_char, c_funptr, c_int, c_int64_t, c_ptr
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: event(*)
         integer(c_int64_t), value :: threshold
         integer(c_int), value :: flags
         type(c_funptr), value :: handler
         type(c_ptr), value :: data
      end function c_set_overflow

      integer(c_int) function c_set_profil(set, event, buckets, size, offset, scale, threshold, &
                                           flags) bind(c, name='gn_set_profil')
         import :: c_char, c_int, c_int32_t, c_int64_t, c_ptr, c_size_t
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: event(*)
         type(c_ptr), value :: buckets
         integer(c_size_t), value :: size
         integer(c_int64_t), value :: offset
         integer(c_int32_t), value :: scale
         integer(c_int64_t), value :: threshold
         integer(c_int), value :: flags
      end function c_set_profil

      integer(c_int) function c_set_sprofil(set, event, regions, n, threshold, flags) &
         bind(c, name='gn_set_sprofil')
         import :: c_char, c_int, c_int64_t, gn_profil
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: event(*)
         type(gn_profil), intent(in) :: regions(*)
         integer(c_int), value :: n
         integer(c_int64_t), value :: threshold
         integer(c_int), value :: flags
      end function c_set_sprofil

      integer(c_int) function c_set_overflow_info(set, event, info) &
         bind(c, name='gn_set_overflow_info')
         import :: c_char, c_int, gn_overflow_info
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: event(*)
         type(gn_overflow_info), intent(inout) :: info
      end function c_set_overflow_info

      integer(c_int) function c_set_estimate(set, event, estimate) bind(c, name='gn_set_estimate')
         import :: c_char, c_int, gn_estimate
         integer(c_int), value :: set
         character(kind=c_char), intent(in) :: event(*)
         type(gn_estimate), intent(inout) :: estimate
      end function c_set_estimate

      type(c_ptr) function c_set_name(set, index) bind(c, name='gn_set_name')
         import :: c_int, c_ptr
         integer(c_int), value :: set, index
      end function c_set_name

      integer(c_int) function c_event_code(name, code) bind(c, name='gn_event_code')
         import :: c_char, c_int, c_int32_t
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int32_t), intent(out) :: code
      end function c_event_code

      integer(c_int) function c_preset_code(name, code) bind(c, name='gn_preset_code')
         import :: c_char, c_int, c_int32_t
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int32_t), intent(out) :: code
      end function c_preset_code

      integer(c_int) function c_code_event(code, name, size) bind(c, name='gn_code_event')
         import :: c_char, c_int, c_int32_t, c_size_t
         integer(c_int32_t), value :: code
         character(kind=c_char), intent(inout) :: name(*)
         integer(c_size_t), value :: size
      end function c_code_event

      integer(c_int) function c_event_describe(name, info) bind(c, name='gn_event_describe')
         import :: c_char, c_int, gn_event_info
         character(kind=c_char), intent(in) :: name(*)
         type(gn_event_info), intent(inout) :: info
      end function c_event_describe

      integer(c_int) function c_event_available(name) bind(c, name='gn_event_available')
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: name(*)
      end function c_event_available

      integer(c_int) function c_event_at(component, index, info) bind(c, name='gn_event_at')
         import :: c_int, gn_event_info
         integer(c_int), value :: component, index
         type(gn_event_info), intent(inout) :: info
      end function c_event_at

      integer(c_int) function c_preset_at(index, info) bind(c, name='gn_preset_at')
         import :: c_int, gn_event_info
         integer(c_int), value :: index
         type(gn_event_info), intent(inout) :: info
      end function c_preset_at

      integer(c_int) function c_presets_load(path) bind(c, name='gn_presets_load')
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: path(*)
      end function c_presets_load

      integer(c_int) function c_component_describe(component, info) &
         bind(c, name='gn_component_describe')
         import :: c_int, gn_component_info
         integer(c_int), value :: component
         type(gn_component_info), intent(inout) :: info
      end function c_component_describe

      integer(c_int) function c_component_index(name, component) &
         bind(c, name='gn_component_index')
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int), intent(out) :: component
      end function c_component_index

      integer(c_int) function c_component_disable(name) bind(c, name='gn_component_disable')
         import :: c_char, c_int
         character(kind=c_char), intent(in) :: name(*)
      end function c_component_disable

      type(c_ptr) function c_error_name(error) bind(c, name='gn_error_name')
         import :: c_int, c_ptr
         integer(c_int), value :: error
      end function c_error_name

      type(c_ptr) function c_error_text(error) bind(c, name='gn_error_text')
         import :: c_int, c_ptr
         integer(c_int), value :: error
      end function c_error_text

      type(c_ptr) function c_message() bind(c, name='gn_message')
         import :: c_ptr
      end function c_message

      integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
         import :: c_ptr, c_size_t
         type(c_ptr), value :: text
      end function c_strlen
   end interface

contains

   function text_at(address) result(text)
      type(c_ptr), intent(in) :: address
      character(len=:), allocatable :: text
      character(kind=c_char), pointer :: bytes(:)

      text = ''
      if (.not. c_associated(address)) return
      call c_f_pointer(address, bytes, [c_strlen(address)])
      text = joined(bytes)
   end function text_at

   function joined(bytes) result(text)
      character(kind=c_char), intent(in) :: bytes(:)
      character(len=:), allocatable :: text
      integer :: i

      allocate (character(len=size(bytes)) :: text)
      do i = 1, size(bytes)
         text(i:i) = bytes(i)
      end do
   end function joined

   ! The text of an array of characters that a zero byte ends, as those of gn_event_info are.
   function gn_text(bytes) result(text)
      character(kind=c_char), intent(in) :: bytes(:)
      character(len=:), allocatable :: text
      integer :: n

      n = 0
      do while (n < size(bytes))
         if (bytes(n + 1) == c_null_char) exit
         n = n + 1
      end do
      text = joined(bytes(1:n))
   end function gn_text

   function gn_unit(value) result(text)
      type(gn_value), intent(in) :: value
      character(len=:), allocatable :: text

      text = text_at(value%unit)
   end function gn_unit

   function gn_error_name(error) result(text)
      integer(c_int), intent(in) :: error
      character(len=:), allocatable :: text

      text = text_at(c_error_name(error))
   end function gn_error_name

   function gn_error_text(error) result(text)
      integer(c_int), intent(in) :: error
      character(len=:), allocatable :: text

      text = text_at(c_error_text(error))
   end function gn_error_text

   function gn_message() result(text)
      character(len=:), allocatable :: text

      text = text_at(c_message())
   end function gn_message

   integer(c_int) function gn_set_create(set, options) result(error)
      integer(c_int), intent(out) :: set
      type(gn_options), intent(in), optional :: options
      type(gn_options), target :: complete

      if (present(options)) complete = options
      complete%size = c_sizeof(complete)
      error = c_set_create(set, c_loc(complete))
   end function gn_set_create

   integer(c_int) function gn_set_add(set, name) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: name

      error = c_set_add(set, trim(name)//c_null_char)
   end function gn_set_add

   ! Adds events, stops at the first that fails; added: how many names went in.
   integer(c_int) function gn_set_add_all(set, names, added) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: names(:)
      integer(c_int), intent(out), optional :: added
      integer :: i

      error = GN_OK
      if (present(added)) added = 0
      do i = 1, size(names)
         error = gn_set_add(set, names(i))
         if (error /= GN_OK) return
         if (present(added)) added = int(i, c_int)
      end do
   end function gn_set_add_all

   integer(c_int) function gn_set_remove(set, name) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: name

      error = c_set_remove(set, trim(name)//c_null_char)
   end function gn_set_remove

   ! handler: c_funloc() of a subroutine of bind(c). A threshold of 0 ends the overflow.
   integer(c_int) function gn_set_overflow(set, event, threshold, flags, handler, data) &
      result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: event
      integer(c_int64_t), intent(in) :: threshold
      integer(c_int), intent(in), optional :: flags
      type(c_funptr), intent(in), optional :: handler
      type(c_ptr), intent(in), optional :: data
      integer(c_int) :: all_flags
      type(c_funptr) :: called
      type(c_ptr) :: passed

      all_flags = 0
      called = c_null_funptr
      passed = c_null_ptr
      if (present(flags)) all_flags = flags
      if (present(handler)) called = handler
      if (present(data)) passed = data
      error = c_set_overflow(set, trim(event)//c_null_char, threshold, all_flags, called, passed)
   end function gn_set_overflow

   ! buckets: c_loc() of an array that outlives the profile; size in bytes.
   integer(c_int) function gn_set_profil(set, event, buckets, size, offset, scale, threshold, &
                                         flags) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: event
      type(c_ptr), intent(in) :: buckets
      integer(c_size_t), intent(in) :: size
      integer(c_int64_t), intent(in) :: offset, threshold
      integer(c_int32_t), intent(in) :: scale
      integer(c_int), intent(in) :: flags

      error = c_set_profil(set, trim(event)//c_null_char, buckets, size, offset, scale, threshold, &
                           flags)
   end function gn_set_profil

   integer(c_int) function gn_set_sprofil(set, event, regions, threshold, flags) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: event
      type(gn_profil), intent(in) :: regions(:)
      integer(c_int64_t), intent(in) :: threshold
      integer(c_int), intent(in) :: flags

      error = c_set_sprofil(set, trim(event)//c_null_char, regions, size(regions, kind=c_int), &
                            threshold, flags)
   end function gn_set_sprofil

   integer(c_int) function gn_set_overflow_info(set, event, info) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: event
      type(gn_overflow_info), intent(out) :: info

      info%size = c_sizeof(info)
      error = c_set_overflow_info(set, trim(event)//c_null_char, info)
   end function gn_set_overflow_info

   integer(c_int) function gn_set_estimate(set, event, estimate) result(error)
      integer(c_int), intent(in) :: set
      character(len=*), intent(in) :: event
      type(gn_estimate), intent(out) :: estimate

      error = c_set_estimate(set, trim(event)//c_null_char, estimate)
   end function gn_set_estimate

   integer(c_int) function stop_without_counts(set) result(error)
      integer(c_int), intent(in) :: set

      error = c_set_stop(set, c_null_ptr)
   end function stop_without_counts

   integer(c_int) function stop_with_counts(set, counts) result(error)
      integer(c_int), intent(in) :: set
      integer(c_int64_t), intent(inout), target, contiguous :: counts(:)

      error = c_set_stop(set, c_loc(counts))
   end function stop_with_counts

   ! The name of event `index`, from 0, of the set; '' if there is none.
   function gn_set_name(set, index) result(text)
      integer(c_int), intent(in) :: set, index
      character(len=:), allocatable :: text

      text = text_at(c_set_name(set, index))
   end function gn_set_name

   integer(c_int) function gn_event_code(name, code) result(error)
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(out) :: code

      error = c_event_code(trim(name)//c_null_char, code)
   end function gn_event_code

   integer(c_int) function gn_preset_code(name, code) result(error)
      character(len=*), intent(in) :: name
      integer(c_int32_t), intent(out) :: code

      error = c_preset_code(trim(name)//c_null_char, code)
   end function gn_preset_code

   integer(c_int) function gn_code_event(code, name) result(error)
      integer(c_int32_t), intent(in) :: code
      character(len=:), allocatable, intent(out) :: name
      character(kind=c_char) :: bytes(GN_NAME_MAX)

      bytes = c_null_char
      error = c_code_event(code, bytes, int(size(bytes), c_size_t))
      name = gn_text(bytes)
   end function gn_code_event

   integer(c_int) function gn_event_describe(name, info) result(error)
      character(len=*), intent(in) :: name
      type(gn_event_info), intent(out) :: info

      info%size = c_sizeof(info)
      error = c_event_describe(trim(name)//c_null_char, info)
   end function gn_event_describe

   integer(c_int) function gn_event_available(name) result(error)
      character(len=*), intent(in) :: name

      error = c_event_available(trim(name)//c_null_char)
   end function gn_event_available

   integer(c_int) function gn_event_at(component, index, info) result(error)
      integer(c_int), intent(in) :: component, index
      type(gn_event_info), intent(out) :: info

      info%size = c_sizeof(info)
      error = c_event_at(component, index, info)
   end function gn_event_at

   integer(c_int) function gn_preset_at(index, info) result(error)
      integer(c_int), intent(in) :: index
      type(gn_event_info), intent(out) :: info

      info%size = c_sizeof(info)
      error = c_preset_at(index, info)
   end function gn_preset_at

   integer(c_int) function gn_presets_load(path) result(error)
      character(len=*), intent(in) :: path

      error = c_presets_load(trim(path)//c_null_char)
   end function gn_presets_load

   integer(c_int) function gn_component_describe(component, info) result(error)
      integer(c_int), intent(in) :: component
      type(gn_component_info), intent(out) :: info

      info%size = c_sizeof(info)
      error = c_component_describe(component, info)
   end function gn_component_describe

   integer(c_int) function gn_component_index(name, component) result(error)
      character(len=*), intent(in) :: name
      integer(c_int), intent(out) :: component

      error = c_component_index(trim(name)//c_null_char, component)
   end function gn_component_index

   integer(c_int) function gn_component_disable(name) result(error)
      character(len=*), intent(in) :: name

      error = c_component_disable(trim(name)//c_null_char)
   end function gn_component_disable

end module gnomon
