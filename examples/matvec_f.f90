! examples/matvec_f.f90 - matvec.c once more, in Fortran with "use mpi": dense matrix-vector
! products whose results go to one rank after another by MPI_Reduce. Same numbers, hence the same
! output, but for the line that begins with "time".
!
!   mpirun -n 4 matvec_f [-n SIZE] [-i ITERATIONS]
program matvec_f
    use mpi
    use, intrinsic :: iso_fortran_env, only: int64, error_unit
    implicit none

    integer(int64), parameter :: modulus = 1000000007_int64
    integer :: rank, ranks, ierr, n, iterations, first, columns, row, j, step, root
    integer(int64) :: mine, total
    real, allocatable :: a(:, :), x(:), partial(:), y(:)
    double precision :: seconds
    character(len=100) :: complaint

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    n = 512
    iterations = 1000
    call parse(complaint)
    if (complaint /= '') then
        if (rank == 0) write (error_unit, '(2a)') 'matvec_f: ', trim(complaint)
        call MPI_Finalize(ierr)
        stop 2
    end if

    first = int(int(n, int64) * rank / ranks)
    columns = int(int(n, int64) * (rank + 1) / ranks) - first
    allocate (a(columns, n), x(columns), partial(n), y(n))
    do row = 1, n
        do j = 1, columns
            a(j, row) = real(mod((row - 1) * 7 + (first + j - 1) * 13, 9) - 4)
        end do
    end do

    mine = 0
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    seconds = -MPI_Wtime()
    do step = 0, iterations - 1
        root = mod(step, ranks)
        do j = 1, columns
            x(j) = real(mod((first + j - 1) * 5 + mod(step, 1000) * 3, 7) - 3)
        end do
        do row = 1, n
            partial(row) = dot_product(a(:, row), x)
        end do
        call MPI_Reduce(partial, y, n, MPI_REAL, MPI_SUM, root, MPI_COMM_WORLD, ierr)
        if (rank == root) mine = modulo(mine + digest() * (mod(step, 9973) + 1), modulus)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    seconds = seconds + MPI_Wtime()

    call MPI_Allreduce(mine, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
        print '(a, i0)', 'size ', n
        print '(a, i0)', 'products ', iterations
        print '(a, i0)', 'checksum ', modulo(total, modulus)
        print '(a, f0.6, a)', 'time ', seconds, ' s'
    end if
    call MPI_Finalize(ierr)

contains

    function digest() result(total_of_y)
        integer(int64) :: total_of_y
        integer :: i
        total_of_y = 0
        do i = 1, n
            total_of_y = modulo(total_of_y + modulo(int(y(i), int64), modulus) * (mod(i - 1, &
                9973) + 1), modulus)
        end do
    end function digest

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
                if (problem /= 0 .or. n < 1 .or. n > 100000) &
                    wanted = '-n: rows and columns, 1 to 100000'
            case ('-i')
                iterations = value
                if (problem /= 0 .or. iterations < 1 .or. iterations > 100000000) &
                    wanted = '-i: iterations, 1 to 100000000'
            case default
                wanted = 'options are -n SIZE -i ITERATIONS'
            end select
            if (wanted /= '') return
        end do
    end subroutine parse
end program matvec_f
