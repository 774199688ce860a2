! Every non-blocking and every persistent collective from Fortran, completed by each function of
! requests, and compared with the blocking one. One source for three ways of calling, as
! collectives.F90.
#include "handles.inc"

program begun
  USE_MPI
#if defined(WITH_MPIX) && defined(WITH_F08)
  use mpi_f08_ext
#elif defined(WITH_MPIX) && defined(WITH_MPI)
  use mpi_ext
#endif
  implicit none
  INCLUDE_MPI
#if defined(WITH_MPIX) && defined(WITH_MPIF_H)
  include 'mpif-ext.h'
#endif
  integer, parameter :: most = 64, n = 3, calls = 20, turns = 4, ways = 9
  integer, asynchronous :: out(most * n * 2), in(most * n * 2), wanted(most * n * 2)
  common /buffers/ out, in, wanted ! which any procedure may change
  integer :: rank, ranks, root, which, turn, total, r, ierr, failures, all_failures, lengths(1)
  COUNT_TYPE, parameter :: one = 1, few = n
  COUNT_TYPE :: counts(most), mine(most), no_counts(most), own
  DISPL_TYPE :: displs(most), at(most), bytes_at(most), no_displs(most)
  DATA_TYPE :: types(most), no_types(most), absolute_in, absolute_wanted
  integer(MPI_ADDRESS_KIND) :: addresses(1)
  COMM_TYPE :: comm
  OP_TYPE :: op
  REQUEST_TYPE :: requests(2)

  call MPI_Init(ierr)
  comm = MPI_COMM_WORLD
  op = MPI_SUM
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)
  if (ranks > 12) call MPI_Abort(comm, 98, ierr)
  root = ranks - 1
  own = rank + 1
  total = 0
  do r = 1, ranks
    counts(r) = r
    displs(r) = total + r - 1 ! holes of one element
    total = total + r
    mine(r) = n
    at(r) = (r - 1) * n
    bytes_at(r) = 4 * at(r)
    types(r) = MPI_INTEGER
    no_types(r) = MPI_DATATYPE_NULL
    no_counts(r) = 0
    no_displs(r) = 0
  end do
  lengths(1) = n
  call MPI_Get_address(in, addresses(1), ierr)
  call MPI_Type_create_hindexed(1, lengths, addresses, MPI_INTEGER, absolute_in, ierr)
  call MPI_Type_commit(absolute_in, ierr)
  call MPI_Get_address(wanted, addresses(1), ierr)
  call MPI_Type_create_hindexed(1, lengths, addresses, MPI_INTEGER, absolute_wanted, ierr)
  call MPI_Type_commit(absolute_wanted, ierr)
  failures = 0
  call MPI_Barrier(comm, ierr)
  do which = 1, calls
    call fill(0)
    call begin()
    call MPI_Ibarrier(comm, requests(2), ierr)
    call finish(which)
    call compare('begun')
    call make()
    call make_barrier()
    do turn = 1, turns
      call fill(turn)
      if (mod(turn, 2) == 0) then
        call MPI_Start(requests(2), ierr)
        call MPI_Start(requests(1), ierr)
      else
        call MPI_Startall(2, requests, ierr)
      end if
      call finish(which + turn)
      call compare('started')
    end do
    call MPI_Request_free(requests(1), ierr)
    call MPI_Request_free(requests(2), ierr)
    if (requests(1) /= MPI_REQUEST_NULL) call MPI_Abort(comm, 97, ierr)
  end do
  call MPI_Type_free(absolute_in, ierr)
  call MPI_Type_free(absolute_wanted, ierr)
  all_failures = 0
  call MPI_Allreduce(failures, all_failures, one, MPI_INTEGER, op, comm, ierr)
  if (rank == 0 .and. all_failures == 0) print '(a,i0,a)', &
      'every collective of Fortran can be started with ', ranks, ' ranks'
  call MPI_Finalize(ierr)
  if (all_failures /= 0) stop 1
contains
  ! Fills the input anew, what is in place too, and has the blocking call's result in `wanted`.
  subroutine fill(turn)
    integer, intent(in) :: turn
    integer :: i
    do i = 1, size(out)
      out(i) = 10000 * rank + 100 * turn + i
    end do
    in = -5
    if (which >= 18 .or. (which == 8 .and. rank == root)) in = out
    wanted = in
    call block()
  end subroutine

#define NAME(x) MPI_/**/x
#define INTO wanted
#define ABSOLUTE absolute_wanted
#define REST , ierr
  subroutine block()
#include "begun.inc"
  end subroutine
#undef NAME
#undef INTO
#undef ABSOLUTE
#undef REST
#define NAME(x) MPI_I/**/x
#define INTO in
#define ABSOLUTE absolute_in
#define REST , requests(1), ierr
  subroutine begin()
#include "begun.inc"
  end subroutine
#undef NAME
#undef REST
#if defined(WITH_MPIX)
#define NAME(x) MPIX_/**/x/**/_init
#else
#define NAME(x) MPI_/**/x/**/_init
#endif
#define REST , MPI_INFO_NULL, requests(1), ierr
  subroutine make()
#include "begun.inc"
  end subroutine

  subroutine make_barrier()
    call NAME(Barrier)(comm, MPI_INFO_NULL, requests(2), ierr)
  end subroutine

  ! Completes both requests, in one of nine ways.
  subroutine finish(how)
    integer, intent(in) :: how
    integer :: done, some, at_index, indices(2)
    logical :: flag
    done = 0
    flag = .false.
    select case (mod(how, ways))
    case (0)
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
    case (1)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    case (2)
      do while (done < 2)
        call MPI_Waitany(2, requests, at_index, MPI_STATUS_IGNORE, ierr)
        done = done + 1
      end do
    case (3)
      do while (done < 2)
        call MPI_Waitsome(2, requests, some, indices, MPI_STATUSES_IGNORE, ierr)
        done = done + some
      end do
    case (4)
      do while (.not. flag)
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierr)
      end do
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, ierr)
      end do
    case (5)
      do while (.not. flag)
        call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, ierr)
      end do
    case (6)
      do while (done < 2)
        call MPI_Testany(2, requests, at_index, flag, MPI_STATUS_IGNORE, ierr)
        if (flag) done = done + 1
      end do
    case (7)
      do while (done < 2)
        call MPI_Testsome(2, requests, some, indices, MPI_STATUSES_IGNORE, ierr)
        done = done + some
      end do
    case (8)
      do while (.not. flag)
        call MPI_Request_get_status(requests(1), flag, MPI_STATUS_IGNORE, ierr)
      end do
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    end select
  end subroutine

  subroutine compare(form)
    character(*), intent(in) :: form
    integer :: i
    do i = 1, size(in)
      if (ierr == MPI_SUCCESS .and. in(i) == wanted(i)) cycle
      print '(a,a,a,i0,a,i0,a,i0,a,i0,a,i0,a,i0)', 'FAILED ', form, ' collective ', which, &
          ': rank ', rank, ', turn ', turn, ', error ', ierr, ', element ', i, ' is ', in(i)
      failures = failures + 1
      exit
    end do
    ierr = -1
  end subroutine
end program
