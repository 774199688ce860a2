! examples/jacobi_f08.f90 - heat in a rod, by Jacobi's iteration, in Fortran with "use mpi_f08".
!
! Each rank holds a piece of the rod; a step swaps the pieces' end points with the neighbours and
! asks by MPI_Allreduce how much the hottest change was. A maximum does not depend on the order: the
! output is the same for every number of ranks, but for the line that begins with "time".
!
!   mpirun -n 4 jacobi_f08 [-n POINTS] [-i ITERATIONS]
program jacobi_f08
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: error_unit
    implicit none

    integer :: rank, ranks, n, iterations, first, points, step, left, right
    double precision, allocatable :: old(:), new(:)
    double precision :: change, hottest_change, largest, seconds
    character(len=100) :: complaint

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    n = 4096
    iterations = 5000
    call parse(complaint)
    if (complaint == '' .and. n < ranks) complaint = '-n: not fewer points than ranks'
    if (complaint /= '') then
        if (rank == 0) write (error_unit, '(2a)') 'jacobi_f08: ', trim(complaint)
        call MPI_Finalize()
        stop 2
    end if

    first = int(int(n, kind(0_8)) * rank / ranks)
    points = int(int(n, kind(0_8)) * (rank + 1) / ranks) - first
    allocate (old(0:points + 1), new(0:points + 1))
    old = 0
    if (rank == 0) old(0) = 100
    if (rank == ranks - 1) old(points + 1) = 50
    new = old
    left = merge(MPI_PROC_NULL, rank - 1, rank == 0)
    right = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)

    call MPI_Barrier(MPI_COMM_WORLD)
    seconds = -MPI_Wtime()
    do step = 1, iterations
        call MPI_Sendrecv(old(1), 1, MPI_DOUBLE_PRECISION, left, 0, &
            old(points + 1), 1, MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Sendrecv(old(points), 1, MPI_DOUBLE_PRECISION, right, 1, &
            old(0), 1, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        new(1:points) = 0.5d0 * (old(0:points - 1) + old(2:points + 1))
        change = maxval(abs(new(1:points) - old(1:points)))
        call MPI_Allreduce(change, hottest_change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
        old(1:points) = new(1:points)
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    seconds = seconds + MPI_Wtime()

    change = maxval(old(1:points))
    call MPI_Reduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
    if (rank == 0) then
        print '(a, i0)', 'points ', n
        print '(a, i0)', 'steps ', iterations
        print '(a, es23.16)', 'last change ', hottest_change
        print '(a, es23.16)', 'hottest point ', largest
        print '(a, f0.6, a)', 'time ', seconds, ' s'
    end if
    call MPI_Finalize()

contains

    subroutine parse(wanted)
        character(len=*), intent(out) :: wanted
        character(len=20) :: option, text
        integer :: i, value, problem
        wanted = ''
        do i = 1, command_argument_count(), 2
            call get_command_argument(i, option)
            call get_command_argument(i + 1, text)
            value = 0
            problem = 1
            if (verify(trim(text), '0123456789') == 0) read (text, *, iostat=problem) value
            select case (option)
            case ('-n')
                n = value
                if (problem /= 0 .or. n < 1 .or. n > 100000000) &
                    wanted = '-n: points, 1 to 100000000'
            case ('-i')
                iterations = value
                if (problem /= 0 .or. iterations < 1 .or. iterations > 100000000) &
                    wanted = '-i: iterations, 1 to 100000000'
            case default
                wanted = 'options are -n POINTS -i ITERATIONS'
            end select
            if (wanted /= '') return
        end do
    end subroutine parse
end program jacobi_f08
