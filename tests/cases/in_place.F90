! MPI_IN_PLACE and MPI_BOTTOM in the Fortran bindings, where a library has to know them by their
! addresses. -DWITH_MPIF: mpif.h; -DWITH_MPI: use mpi; -DWITH_F08: use mpi_f08.
program in_place
#ifdef WITH_F08
  use mpi_f08
#elif defined(WITH_MPI)
  use mpi
#endif
  implicit none
#ifdef WITH_MPIF
  include 'mpif.h'
#endif
  integer, parameter :: long = 800
  integer :: ierr, me, ranks, i, turn, faults
  integer, allocatable :: all(:), own(:), counts(:), displs(:)
#ifdef WITH_F08
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Datatype) :: absolute
#else
  integer, allocatable :: types(:)
  integer :: absolute
#endif
  integer(kind=MPI_ADDRESS_KIND) :: address(1)
  integer :: lengths(1)
  double precision :: numbers(long)
  character(len=24) :: text

  faults = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(all(long * ranks), own(long * ranks), counts(ranks), displs(ranks), types(ranks))
  do turn = 1, 10
    all = me + 1
    call MPI_Allreduce(MPI_IN_PLACE, all, long, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect(all(1:long) == ranks * (ranks + 1) / 2, 'allreduce')
    all = me + 1
    if (me == 0) then
      call MPI_Reduce(MPI_IN_PLACE, all, 90, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
      call expect(all(1:90) == ranks, 'reduce')
    else
      call MPI_Reduce(all, own, 90, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    end if
    all = -1
    all(me * 10 + 1:me * 10 + 10) = me
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 10, MPI_INTEGER, MPI_COMM_WORLD, &
        ierr)
    do i = 1, ranks
      call expect(all((i - 1) * 10 + 1:i * 10) == i - 1, 'allgather')
    end do
    all = -1
    all(me * long + 1:me * long + long) = me
    if (me == ranks - 1) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, long, MPI_INTEGER, ranks - 1, &
          MPI_COMM_WORLD, ierr)
      do i = 1, ranks
        call expect(all((i - 1) * long + 1:i * long) == i - 1, 'gather')
      end do
      call MPI_Scatter(all, long, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ranks - 1, &
          MPI_COMM_WORLD, ierr)
    else
      call MPI_Gather(all(me * long + 1), long, MPI_INTEGER, own, long, MPI_INTEGER, ranks - 1, &
          MPI_COMM_WORLD, ierr)
      call MPI_Scatter(own, long, MPI_INTEGER, all, long, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, &
          ierr)
      call expect(all(1:long) == me, 'scatter')
    end if
    do i = 1, ranks
      all((i - 1) * 5 + 1:i * 5) = me * 100 + i - 1
      counts(i) = 5
      displs(i) = (i - 1) * 5
      types(i) = MPI_INTEGER
    end do
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 5, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      call expect(all((i - 1) * 5 + 1:i * 5) == (i - 1) * 100 + me, 'alltoall')
    end do
    call MPI_Alltoallv(MPI_IN_PLACE, counts, displs, MPI_DATATYPE_NULL, all, counts, displs, &
        MPI_INTEGER, &
        MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      call expect(all((i - 1) * 5 + 1:i * 5) == me * 100 + i - 1, 'alltoallv')
    end do
    displs = displs * 4
    call MPI_Alltoallw(MPI_IN_PLACE, counts, displs, types, all, counts, displs, types, &
        MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      call expect(all((i - 1) * 5 + 1:i * 5) == (i - 1) * 100 + me, 'alltoallw')
    end do
    all = me + 1
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, all, 7, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call expect(all(1:7) == ranks * (ranks + 1) / 2, 'reduce_scatter_block')
    numbers = me
    if (me == 1) numbers = 77d0
    call MPI_Get_address(numbers, address(1), ierr)
    lengths(1) = long
    call MPI_Type_create_hindexed(1, lengths, address, MPI_DOUBLE_PRECISION, absolute, ierr)
    call MPI_Type_commit(absolute, ierr)
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, 1, MPI_COMM_WORLD, ierr)
    call expect(numbers == 77d0, 'bcast from MPI_BOTTOM')
    call MPI_Type_free(absolute, ierr)
    text = 'rank'
    if (me == 0) text = 'from the first'
    call MPI_Bcast(text, len(text), MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
    call expect([text == 'from the first'], 'bcast of characters')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
#ifdef WITH_F08
  ! Without the optional argument.
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, faults, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
#endif
  call MPI_Finalize(ierr)
  if (faults /= 0) stop 3
  if (me == 0) print '(a)', 'ok'
contains
  subroutine expect(claims, what)
    logical, intent(in) :: claims(:)
    character(len=*), intent(in) :: what
    if (all_of(claims)) return
    faults = 1
    write (0, *) 'rank', me, ' turn', turn, ': ', what
  end subroutine
  logical function all_of(claims)
    logical, intent(in) :: claims(:)
    integer :: k
    all_of = .true.
    do k = 1, size(claims)
      if (.not. claims(k)) all_of = .false.
    end do
  end function
end program
