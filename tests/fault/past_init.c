/* Preloaded before the library: a tool whose MPI_Init goes straight to PMPI_Init, so that nobody
 * behind it sees that MPI begins. */
extern __attribute__((weak)) int PMPI_Init(int *argc, char ***argv);

__attribute__((visibility("default"))) int MPI_Init(int *argc, char ***argv);

int
MPI_Init(int *argc, char ***argv)
{
	return PMPI_Init(argc, argv);
}
