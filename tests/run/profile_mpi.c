/* An MPI for profile_calls.c: calls that take a known time by its clock. */
long profile_test_take(long nanoseconds);
long profile_test_jump(void);

#define DEFAULT __attribute__((visibility("default")))

/* For the linker: the program's other names are found in collshim-profile.so first. */
DEFAULT long profile_test_mpi(void);
DEFAULT long MPI_Iprobe(long a, long b, long c, long d, long e);
DEFAULT long MPI_Ibarrier(long comm, long request);
DEFAULT long MPI_Isend(long a, long b, long c, long d, long e, long f, long request);
DEFAULT long MPI_Wait(long request, long status);
DEFAULT long MPI_Waitall(long count, long requests, long statuses);
DEFAULT long MPI_Send(long a, long b, long c, long d, long e, long f);
DEFAULT long MPI_Sendrecv(long a, long b, long c, long d, long e, long f, long g, long h, long i,
			  long j, long k, long l);
DEFAULT long MPI_Recv(long a, long b, long c, long d, long e, long f, long g);
DEFAULT long mpi_file_open_(long a, long b, long c, long d, long e, long f, long length);

long
profile_test_mpi(void)
{
	return 0;
}

long
MPI_Iprobe(long a, long b, long c, long d, long e)
{
	return profile_test_take(30);
}

/* Requests are handles of an int, as MPICH's. */
static int handles = 10;

long
MPI_Ibarrier(long comm, long request)
{
	*(int *)request = ++handles;
	return profile_test_take(5000);
}

long
MPI_Isend(long a, long b, long c, long d, long e, long f, long request)
{
	*(int *)request = ++handles;
	return profile_test_take(5000);
}

long
MPI_Wait(long request, long status)
{
	*(int *)request = 0;
	return profile_test_take(7000);
}

long
MPI_Waitall(long count, long requests, long statuses)
{
	for (long i = 0; i < count; i++)
		((int *)requests)[i] = 0;
	return profile_test_take(9000);
}

long
MPI_Send(long a, long b, long c, long d, long e, long f)
{
	return profile_test_take(a + b + c + d + e + f);
}

/* By another call of its own, as MPIs do. */
long
MPI_Sendrecv(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
	     long l)
{
	MPI_Send(1000, 0, 0, 0, 0, 0);
	return profile_test_take(l);
}

/* An error handler that does not return. */
long
MPI_Recv(long a, long b, long c, long d, long e, long f, long g)
{
	return profile_test_jump();
}

long
mpi_file_open_(long a, long b, long c, long d, long e, long f, long length)
{
	return length;
}
