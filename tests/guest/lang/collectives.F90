! Every blocking collective from Fortran, those of neighbours too, with and without MPI_IN_PLACE,
! results checked. One source for three ways of calling: -DWITH_MPIF_H, -DWITH_MPI, -DWITH_F08. With
! -DWITH_LARGE counts are MPI_Count; with -DWITH_NEWER mpi_f08 is as Open MPI has it since 6.0,
! whatever this one is (newer/).
#include "handles.inc"

program collectives
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: most = 64, n = 3
  integer :: rank, ranks, failures
  integer :: out(most * n * 2), in(most * n * 2), wanted(most * n * 2)
  COUNT_TYPE, parameter :: none = 0, one = 1, few = n
  COUNT_TYPE :: counts(most), mine(most), no_counts(most), own
  DISPL_TYPE :: displs(most), byte_displs(most), at(most), bytes_at(most), no_displs(most)
  integer :: root, total, extent, r, i, j, ierr, provided, all_failures, lengths(1)
  integer(MPI_ADDRESS_KIND) :: addresses(1), zero_bytes(1)
  integer :: each(1), zero(1), left(1), right(1) ! of neighbours: integers, however other counts are
  DATA_TYPE :: types(most), no_types(most), absolute
  COMM_TYPE :: comm, copy, second, circle
  REQUEST_TYPE :: request
  OP_TYPE :: op

#if defined(WITH_MPI)
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  if (ierr /= MPI_SUCCESS .or. provided < MPI_THREAD_SINGLE) stop 97
#elif defined(WITH_F08)
  call MPI_Init() ! no ierror: it is optional here
#else
  call MPI_Init(ierr)
  if (ierr /= MPI_SUCCESS) stop 97
#endif
  comm = MPI_COMM_WORLD
  op = MPI_SUM
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)
  if (ranks > 12) call MPI_Abort(comm, 98, ierr)
  root = ranks - 1
  own = rank + 1
  failures = 0
  total = 0
  do r = 1, ranks
    counts(r) = r
    displs(r) = total + r - 1 ! holes of one element
    byte_displs(r) = 4 * displs(r)
    total = total + r
    types(r) = MPI_INTEGER
    no_types(r) = MPI_DATATYPE_NULL
    no_counts(r) = 0
    no_displs(r) = 0
  end do
  extent = total + ranks
  out = 0
  in = 0
  wanted = 0

  do i = 1, n
    out(i) = value(rank, 0, i)
  end do
  do r = 0, ranks - 1
    do i = 1, n
      wanted(r * n + i) = value(r, 0, i)
    end do
  end do
  call MPI_Allgather(out, few, MPI_INTEGER, in, few, MPI_INTEGER, comm, ierr)
  call result('allgather', ranks * n)
  in(rank * n + 1:rank * n + n) = out(1:n)
  call MPI_Allgather(MPI_IN_PLACE, none, MPI_DATATYPE_NULL, in, few, MPI_INTEGER, comm, ierr)
  call result('allgather in place', ranks * n)
  call MPI_Gather(out, few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
  if (rank == root) call result('gather', ranks * n)
  in(rank * n + 1:rank * n + n) = out(1:n)
  if (rank == root) then
    call MPI_Gather(MPI_IN_PLACE, few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
    call result('gather in place', ranks * n)
  else
    call MPI_Gather(out, few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
  end if
  in = 0

  wanted = 0
  do i = 1, rank + 1
    out(i) = value(rank, 0, i)
  end do
  do r = 1, ranks
    do i = 1, counts(r)
      wanted(displs(r) + i) = value(r - 1, 0, i)
    end do
  end do
  call MPI_Allgatherv(out, own, MPI_INTEGER, in, counts, displs, MPI_INTEGER, comm, ierr)
  call result('allgatherv', extent)
  in(displs(rank + 1) + 1:displs(rank + 1) + rank + 1) = out(1:rank + 1)
  call MPI_Allgatherv(MPI_IN_PLACE, none, MPI_DATATYPE_NULL, in, counts, displs, MPI_INTEGER, &
      comm, ierr)
  call result('allgatherv in place', extent)
  call MPI_Gatherv(out, own, MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, comm, ierr)
  if (rank == root) call result('gatherv', extent)
  in(displs(rank + 1) + 1:displs(rank + 1) + rank + 1) = out(1:rank + 1)
  if (rank == root) then
    call MPI_Gatherv(MPI_IN_PLACE, own, MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, comm, &
        ierr)
    call result('gatherv in place', extent)
  else
    call MPI_Gatherv(out, own, MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, comm, ierr)
  end if
  in = 0

  do r = 0, ranks - 1
    do i = 1, n
      out(r * n + i) = value(rank, r, i)
      wanted(r * n + i) = value(r, rank, i)
    end do
  end do
  call MPI_Alltoall(out, few, MPI_INTEGER, in, few, MPI_INTEGER, comm, ierr)
  call result('alltoall', ranks * n)
  in = out
  call MPI_Alltoall(MPI_IN_PLACE, none, MPI_DATATYPE_NULL, in, few, MPI_INTEGER, comm, ierr)
  call result('alltoall in place', ranks * n)
  do i = 1, n
    wanted(i) = value(root, rank, i)
  end do
  call MPI_Scatter(out, few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
  call result('scatter', n)
  if (rank == root) then
    call MPI_Scatter(out, few, MPI_INTEGER, MPI_IN_PLACE, few, MPI_INTEGER, root, comm, ierr)
  else
    call MPI_Scatter(out, few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
    call result('scatter in place', n)
  end if

  ! To rank r go r + 1 elements, whoever sends; what comes is rank + 1 elements of each.
  out = 0
  do r = 1, ranks
    mine(r) = own
    at(r) = (r - 1) * (rank + 1)
    bytes_at(r) = 4 * at(r)
    do i = 1, counts(r)
      out(displs(r) + i) = value(rank, r - 1, i)
    end do
    do i = 1, mine(r)
      wanted(at(r) + i) = value(r - 1, rank, i)
    end do
  end do
  call MPI_Alltoallv(out, counts, displs, MPI_INTEGER, in, mine, at, MPI_INTEGER, comm, ierr)
  call result('alltoallv', ranks * (rank + 1))
  call MPI_Alltoallw(out, counts, byte_displs, types, in, mine, bytes_at, types, comm, ierr)
  call result('alltoallw', ranks * (rank + 1))
  do i = 1, rank + 1
    wanted(i) = value(root, rank, i)
  end do
  call MPI_Scatterv(out, counts, displs, MPI_INTEGER, in, own, MPI_INTEGER, root, comm, ierr)
  call result('scatterv', rank + 1)
  if (rank == root) then
    call MPI_Scatterv(out, counts, displs, MPI_INTEGER, MPI_IN_PLACE, own, MPI_INTEGER, root, &
        comm, ierr)
  else
    call MPI_Scatterv(out, counts, displs, MPI_INTEGER, in, own, MPI_INTEGER, root, comm, ierr)
    call result('scatterv in place', rank + 1)
  end if
  do r = 1, ranks
    mine(r) = n
    at(r) = (r - 1) * n
    bytes_at(r) = 4 * at(r)
    do i = 1, n
      out(at(r) + i) = value(rank, r - 1, i)
      wanted(at(r) + i) = value(r - 1, rank, i)
    end do
  end do
  in = out
  call MPI_Alltoallv(MPI_IN_PLACE, no_counts, no_displs, MPI_DATATYPE_NULL, in, mine, at, &
      MPI_INTEGER, comm, ierr)
  call result('alltoallv in place', ranks * n)
  in = out
  call MPI_Alltoallw(MPI_IN_PLACE, no_counts, no_displs, no_types, in, mine, bytes_at, types, &
      comm, ierr)
  call result('alltoallw in place', ranks * n)

  do i = 1, extent + n
    out(i) = rank + i
    wanted(i) = ranks * (ranks - 1) / 2 + ranks * i
  end do
  call MPI_Allreduce(out, in, few, MPI_INTEGER, op, comm, ierr)
  call result('allreduce', n)
  in = out
  call MPI_Allreduce(MPI_IN_PLACE, in, few, MPI_INTEGER, op, comm, ierr)
  call result('allreduce in place', n)
  ! Open MPI hangs if another communicator is made of one whose MPI_Comm_idup is pending.
  call MPI_Comm_dup(comm, copy, ierr)
  call MPI_Comm_idup(copy, second, request, ierr)
  call MPI_Allreduce(out, in, few, MPI_INTEGER, op, copy, ierr)
  call result('allreduce while idup is pending', n)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call MPI_Allreduce(out, in, few, MPI_INTEGER, op, second, ierr)
  call result('allreduce on the copy', n)
  call MPI_Comm_free(second, ierr)
  call MPI_Comm_disconnect(copy, ierr)
  if (second /= MPI_COMM_NULL .or. copy /= MPI_COMM_NULL) call MPI_Abort(comm, 96, ierr)
  call MPI_Reduce(out, in, few, MPI_INTEGER, op, root, comm, ierr)
  if (rank == root) call result('reduce', n)
  in = out
  if (rank == root) then
    call MPI_Reduce(MPI_IN_PLACE, in, few, MPI_INTEGER, op, root, comm, ierr)
    call result('reduce in place', n)
  else
    call MPI_Reduce(out, in, few, MPI_INTEGER, op, root, comm, ierr)
  end if
  in = 0
  wanted(1) = wanted(rank + 1)
  call MPI_Reduce_scatter_block(out, in, one, MPI_INTEGER, op, comm, ierr)
  call result('reduce_scatter_block', 1)
  in = out
  call MPI_Reduce_scatter_block(MPI_IN_PLACE, in, one, MPI_INTEGER, op, comm, ierr)
  call result('reduce_scatter_block in place', 1)
  do i = 1, rank + 1
    wanted(i) = ranks * (ranks - 1) / 2 + ranks * (displs(rank + 1) - rank + i)
  end do
  call MPI_Reduce_scatter(out, in, counts, MPI_INTEGER, op, comm, ierr)
  call result('reduce_scatter', rank + 1)
  in = out
  call MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INTEGER, op, comm, ierr)
  call result('reduce_scatter in place', rank + 1)

  do i = 1, n
    wanted(i) = rank * (rank + 1) / 2 + (rank + 1) * i
    wanted(n + i) = rank * (rank - 1) / 2 + rank * i
    out(i) = rank + i
  end do
  call MPI_Scan(out, in, few, MPI_INTEGER, op, comm, ierr)
  call result('scan', n)
  in = out
  call MPI_Scan(MPI_IN_PLACE, in, few, MPI_INTEGER, op, comm, ierr)
  call result('scan in place', n)
  wanted(1:n) = wanted(n + 1:2 * n)
  call MPI_Exscan(out, in, few, MPI_INTEGER, op, comm, ierr)
  call result('exscan', n) ! the first rank's is 0 as before
  in = out
  if (rank == 0) wanted(1:n) = out(1:n)
  call MPI_Exscan(MPI_IN_PLACE, in, few, MPI_INTEGER, op, comm, ierr)
  call result('exscan in place', n)

  ! In a circle: what the rank before this one has. MPICH 4.0.2's alltoallw knows no other topology
  ! in mpi_f08.
  each = n
  zero = 0
  zero_bytes = 0
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call MPI_Dist_graph_create_adjacent(comm, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., &
    circle, ierr)
  do i = 1, n
    out(i) = value(rank, 0, i)
    wanted(i) = value(left(1), 0, i)
  end do
  call MPI_Neighbor_allgather(out, n, MPI_INTEGER, in, n, MPI_INTEGER, circle, ierr)
  call result('neighbor_allgather', n)
  call MPI_Neighbor_allgatherv(out, n, MPI_INTEGER, in, each, zero, MPI_INTEGER, circle, ierr)
  call result('neighbor_allgatherv', n)
  call MPI_Neighbor_alltoall(out, n, MPI_INTEGER, in, n, MPI_INTEGER, circle, ierr)
  call result('neighbor_alltoall', n)
  call MPI_Neighbor_alltoallv(out, each, zero, MPI_INTEGER, in, each, zero, MPI_INTEGER, circle, &
      ierr)
  call result('neighbor_alltoallv', n)
  call MPI_Neighbor_alltoallw(out, each, zero_bytes, types, in, each, zero_bytes, types, circle, &
      ierr)
  call result('neighbor_alltoallw', n)
  call MPI_Comm_free(circle, ierr)

  do i = 1, n
    wanted(i) = value(root, 0, i)
  end do
  if (rank == root) in(1:n) = wanted(1:n)
  call MPI_Bcast(in, few, MPI_INTEGER, root, comm, ierr)
  call result('bcast', n)
  ! The same through absolute addresses.
  if (rank == root) in(1:n) = wanted(1:n)
  lengths(1) = n
  call MPI_Get_address(in, addresses(1), ierr)
  call MPI_Type_create_hindexed(1, lengths, addresses, MPI_INTEGER, absolute, ierr)
  call MPI_Type_commit(absolute, ierr)
  call MPI_Bcast(MPI_BOTTOM, one, absolute, root, comm, ierr)
  call touch(in)
  call result('bcast from MPI_BOTTOM', n)
  call MPI_Type_free(absolute, ierr)

#if defined(WITH_F08)
  call sections()
#endif
  call MPI_Barrier(comm, ierr)
#if defined(WITH_F08)
  call MPI_Barrier(comm)
#endif
  all_failures = 0
  call MPI_Allreduce(failures, all_failures, one, MPI_INTEGER, op, comm, ierr)
  if (rank == 0 .and. all_failures == 0) print '(a,i0,a)', &
      'every collective of Fortran is right with ', ranks, &
    ' ranks'
  call MPI_Finalize(ierr)
  if (all_failures /= 0) stop 1
contains
#if defined(WITH_F08)
  ! Sections of arrays, which mpi_f08 may pass as they lie, on some ranks, and whole arrays on the
  ! others.
  subroutine sections()
    integer :: grid(6, 8), whole(9)
    logical :: is_cut
    COUNT_TYPE, parameter :: nine = 9, column = 3
    do j = 0, 1
      is_cut = mod(rank + j, 2) == 0
      do i = 1, 9
        wanted(i) = value(root, 1, i)
      end do
      whole = wanted(1:9) * merge(1, 0, rank == root)
      grid = -1
      grid(1:5:2, 1:7:3) = reshape(whole, [3, 3])
      if (is_cut) then
        call MPI_Bcast(grid(1:5:2, 1:7:3), nine, MPI_INTEGER, root, comm, ierr)
        whole = reshape(grid(1:5:2, 1:7:3), [9])
        if (count(grid == -1) /= 39) call MPI_Abort(comm, 95)
      else
        call MPI_Bcast(whole, nine, MPI_INTEGER, root, comm)
        ierr = 0
      end if
      in(1:9) = whole
      call result('bcast of sections', 9)
      ! Not all of the section: its first column.
      if (rank == root) in(1:3) = wanted(1:3)
      if (is_cut) then
        grid(1:5:2, 2) = in(1:3)
        call MPI_Bcast(grid(1:5:2, 2:8), column, MPI_INTEGER, root, comm, ierr)
        in(1:3) = grid(1:5:2, 2)
      else
        call MPI_Bcast(in, column, MPI_INTEGER, root, comm, ierr)
      end if
      call result('bcast of the beginning of sections', 3)

      do i = 1, n
        out(i) = value(rank, 0, i)
      end do
      do r = 0, ranks - 1
        do i = 1, n
          wanted(r * n + i) = value(r, 0, i)
        end do
      end do
      grid = -1
      grid(2, 2:8:3) = out(1:n)
      if (is_cut) then
        call MPI_Allgather(grid(2, 2:8:3), few, MPI_INTEGER, in, few, MPI_INTEGER, comm, ierr)
      else
        call MPI_Allgather(out, few, MPI_INTEGER, in, few, MPI_INTEGER, comm, ierr)
      end if
      call result('allgather of sections', ranks * n)
      ! What is received elsewhere than on the root does not matter, and how it lies neither.
      if (rank == root) then
        call MPI_Gather(grid(2, 2:8:3), few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
        call result('gather of sections', ranks * n)
      else if (is_cut) then
        call MPI_Gather(grid(2, 2:8:3), few, MPI_INTEGER, grid(1, :), few, MPI_INTEGER, root, &
            comm, ierr)
      else
        call MPI_Gather(out, few, MPI_INTEGER, grid(1, :), few, MPI_INTEGER, root, comm, ierr)
      end if

      counts(1:ranks) = n
      do r = 1, ranks
        displs(r) = (r - 1) * n
      end do
      if (is_cut) then
        call MPI_Allgatherv(grid(2, 2:8:3), few, MPI_INTEGER, in, counts, displs, MPI_INTEGER, &
            comm, ierr)
      else
        call MPI_Allgatherv(out, few, MPI_INTEGER, in, counts, displs, MPI_INTEGER, comm, ierr)
      end if
      call result('allgatherv of sections', ranks * n)
      if (rank == root) then
        call MPI_Gatherv(out, few, MPI_INTEGER, in, counts, displs, MPI_INTEGER, root, comm, ierr)
        call result('gatherv of sections', ranks * n)
      else
        call MPI_Gatherv(grid(2, 2:8:3), few, MPI_INTEGER, grid(1, :), counts, displs, &
            MPI_INTEGER, root, comm, ierr)
      end if

      do r = 0, ranks - 1
        do i = 1, n
          out(r * n + i) = value(rank, r, i)
        end do
      end do
      do i = 1, n
        wanted(i) = value(root, rank, i)
      end do
      grid = -1
      if (is_cut .and. rank == root) then
        call MPI_Scatter(out, few, MPI_INTEGER, grid(3, 1:7:3), few, MPI_INTEGER, root, comm, ierr)
        in(1:n) = grid(3, 1:7:3)
      else if (is_cut) then
        call MPI_Scatter(grid(1, :), few, MPI_INTEGER, grid(3, 1:7:3), few, MPI_INTEGER, root, &
            comm, ierr)
        in(1:n) = grid(3, 1:7:3)
      else
        call MPI_Scatter(out, few, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
      end if
      call result('scatter into sections', n)
      if (is_cut .and. rank == root) then
        call MPI_Scatterv(out, counts, displs, MPI_INTEGER, grid(4, 1:7:3), few, MPI_INTEGER, &
            root, comm, ierr)
        in(1:n) = grid(4, 1:7:3)
      else if (is_cut) then
        call MPI_Scatterv(grid(1, :), counts, displs, MPI_INTEGER, grid(4, 1:7:3), few, &
            MPI_INTEGER, root, comm, ierr)
        in(1:n) = grid(4, 1:7:3)
      else
        call MPI_Scatterv(out, counts, displs, MPI_INTEGER, in, few, MPI_INTEGER, root, comm, ierr)
      end if
      call result('scatterv into sections', n)
    end do
#if defined(WITH_NEWER)
    ! What that MPI refuses.
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Allreduce(grid(1, :), in, few, MPI_INTEGER, op, comm, ierr)
    if (ierr /= MPI_ERR_INTERN) call MPI_Abort(comm, 94)
    call MPI_Bcast(grid(1, :), nine, MPI_INTEGER, root, comm, ierr)
    if (ierr /= MPI_ERR_ARG) call MPI_Abort(comm, 93)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL)
#endif
  end subroutine
#endif

  subroutine expect(name, got, wanted, count)
    character(*), intent(in) :: name
    integer, intent(in) :: count, got(*), wanted(*)
    integer :: i
    do i = 1, count
      if (got(i) /= wanted(i)) then
        print '(a,a,a,i0,a,i0,a,i0,a,i0)', 'FAILED ', name, ': rank ', rank, ', element ', i, &
            ' is ', got(i), &
          ', not ', wanted(i)
        failures = failures + 1
        return
      end if
    end do
  end subroutine

  ! Element i of what rank r contributes to rank `to`.
  integer function value(r, to, i)
    integer, intent(in) :: r, to, i
    value = 10000 * r + 100 * to + i
  end function

  ! Looks at ierr and at in, and clears both.
  subroutine result(name, count)
    character(*), intent(in) :: name
    integer, intent(in) :: count
    if (ierr /= MPI_SUCCESS) then
      print '(a,a,a,i0,a,i0)', 'FAILED ', name, ': rank ', rank, ' got error ', ierr
      failures = failures + 1
    end if
    call expect(name, in, wanted, count)
    in = 0
    ierr = -1
  end subroutine

  ! The compiler does not see that MPI_BOTTOM reaches `in`.
  subroutine touch(buffer)
    integer, intent(inout), volatile :: buffer(:)
    buffer(1) = buffer(1)
  end subroutine
end program
