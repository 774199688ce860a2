/* Service threads that receive anything from anybody on MPI_COMM_WORLD as soon as MPI_Initialized
 * says yes, which may be while the main thread is still in MPI_Init_thread (as in
 * open-mpi/ompi#174). Only the program's messages may come. */
#include "case.h"

#include <pthread.h>

static struct {
	int word, source, tag, bytes;
} got;

static void *
serve(void *unused)
{
	int is_there = 0;
	MPI_Status status;
	(void)unused;
	while (!is_there)
		MPI_Initialized(&is_there);
	if (is("probe"))
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	for (int flag = is("iprobe") ? 0 : 1; !flag;)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
	/* Room for more than the program sends: a message that is not its own shall be seen. */
	int words[1024] = { 0 };
	MPI_Recv(words, sizeof words, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
		 &status);
	got.word = words[0];
	got.source = status.MPI_SOURCE;
	got.tag = status.MPI_TAG;
	MPI_Get_count(&status, MPI_BYTE, &got.bytes);
	return NULL;
}

int
main(int argc, char **argv)
{
	enum { TAG = 42 };
	pthread_t thread;
	int provided;
	take_variant(argc, argv);
	if (pthread_create(&thread, NULL, serve, NULL))
		return 9;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	learn_rank();
	if (provided < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 9);
	int word = 4711 + rank, before = (rank + size - 1) % size;
	MPI_Send(&word, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
	pthread_join(thread, NULL);
	CHECK(got.word == 4711 + before && got.source == before && got.tag == TAG &&
	      got.bytes == (int)sizeof word, "word %d, tag %d, %d bytes from rank %d", got.word,
	      got.tag, got.bytes, got.source);
	for (int i = 1; i <= 10; i++)
		use(MPI_COMM_WORLD, i);
	return end();
}
