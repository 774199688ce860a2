/* examples/compress.c — parallel compression: each rank compresses its part of a text block by
 * block, and rank 0 gathers the blocks (T. Hoefler and A. Lumsdaine, "Optimizing non-blocking
 * collective operations for InfiniBand", IV.D).
 *
 * An ordinary MPI program. The sizes of a block's parts are gathered by MPI_Gather; the parts
 * themselves come by MPI_Igatherv while the next block is being compressed.
 *
 *   mpirun -n 4 compress [-b] [-n BLOCKS] [-k KIBIBYTES] [-w WINDOW]
 *
 *   -b  blocking: MPI_Gatherv         -k  of a rank's part of a block (default 64)
 *   -n  blocks (default 32)           -w  gathers under way at once (default 2)
 *
 * Rank 0 decompresses all and compares with the text. All output but lines that begin with "time"
 * is the same with -b and without. */
#include "kernel.h"

#include <stdint.h>
#include <zlib.h>

static struct kernel kernel;
static struct kernel_option options[] = {
	{ 'n', 1, 4096, 32 }, { 'k', 1, 1024, 64 }, { 'w', 1, 64, 2 }, { 0 } };
static int blocks, bytes, window;

/* Words of a small vocabulary, by chance: text as compressors like it. */
static void
write_text(unsigned char *text, int rank, int block)
{
	uint32_t state = (uint32_t)(rank * 7919 + block * 104729 + 1);
	for (int at = 0; at < bytes;) {
		state = state * 1664525 + 1013904223;
		uint32_t word = (state >> 20) * 2654435761u;
		for (int left = 2 + (int)(state >> 28) % 7; left > 0 && at < bytes; left--) {
			text[at++] = (unsigned char)('a' + word % 26);
			word = word / 26 + 77;
		}
		if (at < bytes)
			text[at++] = ' ';
	}
}

/* The gathered block: sizes of the ranks' parts, and the parts `room` bytes apart. */
static int
is_right(const int *sizes, const unsigned char *parts, uLong room, int block,
	 unsigned char *text, unsigned char *unpacked)
{
	for (int rank = 0; rank < kernel.ranks; rank++) {
		uLongf length = (uLongf)bytes;
		write_text(text, rank, block);
		if (uncompress(unpacked, &length, parts + (uLong)rank * room,
			       (uLong)sizes[rank]) != Z_OK || length != (uLongf)bytes ||
		    memcmp(text, unpacked, length) != 0)
			return 0;
	}
	return 1;
}

int
main(int argc, char **argv)
{
	if (kernel_begin(&kernel, "compress", argc, argv, options) != 0) {
		MPI_Finalize();
		return 2;
	}
	blocks = options[0].value;
	bytes = options[1].value * 1024;
	window = options[2].value;
	uLong room = compressBound((uLong)bytes), all = room * (uLong)kernel.ranks;
	size_t ranks = (size_t)kernel.ranks, kept = kernel.rank == 0 ? (size_t)blocks : 0;
	unsigned char *text = kernel_allocate(&kernel, (size_t)bytes),
		      *unpacked = kernel_allocate(&kernel, (size_t)bytes),
		      *packed = kernel_allocate(&kernel, room * (size_t)window),
		      *gathered = kernel_allocate(&kernel, all * kept);
	int *sizes = kernel_allocate(&kernel, sizeof *sizes * ranks * kept),
	    *offsets = kernel_allocate(&kernel, sizeof *offsets * ranks);
	MPI_Request *requests = kernel_allocate(&kernel, sizeof *requests * (size_t)window);
	for (int slot = 0; slot < window; slot++)
		requests[slot] = MPI_REQUEST_NULL;
	for (int i = 0; i < kernel.ranks; i++)
		offsets[i] = (int)((uLong)i * room);

	MPI_Barrier(MPI_COMM_WORLD);
	kernel.seconds = -MPI_Wtime();
	for (int block = 0; block < blocks; block++) {
		int slot = block % window;
		size_t at = kept ? (size_t)block : 0;
		unsigned char *mine = packed + room * (uLong)slot;
		uLongf length = room;
		write_text(text, kernel.rank, block);
		KERNEL_TIMED(&kernel, MPI_Wait(&requests[slot], MPI_STATUS_IGNORE));
		if (compress(mine, &length, text, (uLong)bytes) != Z_OK)
			MPI_Abort(MPI_COMM_WORLD, 1);
		int size = (int)length;
		KERNEL_TIMED(&kernel, MPI_Gather(&size, 1, MPI_INT, sizes + at * ranks, 1, MPI_INT,
						 0, MPI_COMM_WORLD));
		if (kernel.is_blocking)
			KERNEL_TIMED(&kernel, MPI_Gatherv(mine, size, MPI_BYTE, gathered + at * all,
							  sizes + at * ranks, offsets, MPI_BYTE, 0,
							  MPI_COMM_WORLD));
		else
			KERNEL_TIMED(&kernel, MPI_Igatherv(mine, size, MPI_BYTE,
							   gathered + at * all, sizes + at * ranks,
							   offsets, MPI_BYTE, 0, MPI_COMM_WORLD,
							   &requests[slot]));
	}
	for (int slot = 0; slot < window; slot++)
		KERNEL_TIMED(&kernel, MPI_Wait(&requests[slot], MPI_STATUS_IGNORE));
	kernel.seconds += MPI_Wtime();

	int right = 1;
	uLong total = 0, sum = adler32(0, NULL, 0);
	for (size_t block = 0; block < kept; block++) {
		const unsigned char *parts = gathered + block * all;
		right &= is_right(sizes + block * ranks, parts, room, (int)block, text, unpacked);
		for (size_t i = 0; i < ranks; i++) {
			total += (uLong)sizes[block * ranks + i];
			sum = adler32(sum, parts + i * room, (uInt)sizes[block * ranks + i]);
		}
	}
	if (kernel.rank == 0)
		printf("%d blocks of %d KiB by %d ranks: %lu bytes, checksum %08lx\n", blocks,
		       bytes / 1024, kernel.ranks, total, sum);
	kernel_verdict(&kernel, "text", right);
	free(text);
	free(unpacked);
	free(packed);
	free(gathered);
	free(sizes);
	free(offsets);
	free(requests);
	return kernel_end(&kernel);
}
