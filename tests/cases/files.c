/* Collective file operations alternate with collectives, on communicators that come and go. */
#include "case.h"

#define COUNT 4000

static void
round_trip(MPI_Comm comm, const char *name, int turn)
{
	MPI_File file;
	MPI_Datatype comb;
	int me, ranks, *data = room(COUNT * sizeof *data);
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &ranks);
	CHECK(!MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
	      "open %s", name);
	MPI_Type_vector(COUNT, 1, ranks, MPI_INT, &comb);
	MPI_Type_commit(&comb);
	MPI_File_set_view(file, me * (MPI_Offset)sizeof(int), MPI_INT, comb, "native",
			  MPI_INFO_NULL);
	for (int i = 0; i < COUNT; i++)
		data[i] = 50000 * me + i + turn;
	MPI_File_write_all(file, data, COUNT, MPI_INT, MPI_STATUS_IGNORE);
	use(comm, 1500);
	memset(data, 0, COUNT * sizeof *data);
	MPI_File_sync(file);
	MPI_Barrier(comm);
	MPI_File_read_at_all(file, 0, data, COUNT, MPI_INT, MPI_STATUS_IGNORE);
	for (int i = 0; i < COUNT; i++)
		CHECK(data[i] == 50000 * me + i + turn, "read %d at %d", data[i], i);
	MPI_File_close(&file);
	MPI_Type_free(&comb);
	free(data);
}

int
main(int argc, char **argv)
{
	char name[64];
	int token;
	begin(&argc, &argv);
	int color = is("parts") ? rank % 2 : 0;
	token = (int)getpid();
	MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
	snprintf(name, sizeof name, "/tmp/case-file-%d-%d", token, color);
	for (int turn = 0; turn < 3; turn++) {
		MPI_Comm comm;
		MPI_Comm_split(MPI_COMM_WORLD, color, is("parts") ? -rank : rank, &comm);
		use(comm, 90);
		round_trip(comm, name, turn);
		MPI_Comm_free(&comm);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	unlink(name);
	return end();
}
