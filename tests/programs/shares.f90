! The shares of shares.c: three procedures of a module call the same one, in a shuffled order.
module dealing
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none

contains

  pure integer(int64) function mixed(x)
    integer(int64), intent(in) :: x

    mixed = ieor(x, ishft(x, 13))
    mixed = ieor(mixed, ishft(mixed, -7))
    mixed = ieor(mixed, ishft(mixed, 17))
  end function mixed

  subroutine work(x)
    integer(int64), intent(inout) :: x
    integer :: i

    do i = 1, 2000
      x = ieor(x, ishft(x, 13))
      x = ieor(x, ishft(x, -7))
      x = ieor(x, ishft(x, 17))
    end do
  end subroutine work

  ! What follows each call keeps the caller on the stack.
  subroutine half(x)
    integer(int64), intent(inout) :: x

    call work(x)
    x = ieor(x, 1_int64)
  end subroutine half

  subroutine third(x)
    integer(int64), intent(inout) :: x

    call work(x)
    x = ieor(x, 2_int64)
  end subroutine third

  recursive subroutine fifth(x, levels)
    integer(int64), intent(inout) :: x
    integer, intent(in) :: levels

    if (levels > 0) then
      call fifth(x, levels - 1)
    else
      call work(x)
    end if
    x = ieor(x, 3_int64)
  end subroutine fifth

  subroutine play(card, x)
    integer, intent(in) :: card
    integer(int64), intent(inout) :: x

    select case (card)
    case (1:5)
      call half(x)
    case (6:8)
      call third(x)
    case default
      call fifth(x, 3)
    end select
    x = ieor(x, 4_int64)
  end subroutine play
end module dealing

program shares
  use dealing
  implicit none
  integer(int64) :: x = 1, random = 88172645463325252_int64
  integer :: card(10), rounds, round, i, j, kept
  character(len=16) :: word

  call get_command_argument(1, word)
  read (word, *) rounds
  card = [(i, i=1, 10)]
  do round = 1, rounds
    do i = 10, 2, -1
      random = mixed(random)
      j = int(modulo(ishft(random, -33), int(i, int64))) + 1
      kept = card(i)
      card(i) = card(j)
      card(j) = kept
    end do
    do i = 1, 10
      call play(card(i), x)
    end do
  end do
  print *, x /= 0
end program shares
