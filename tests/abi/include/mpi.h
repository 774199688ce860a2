/* tests/abi/include/mpi.h — what programs of tests/ ask of MPI's standard ABI beyond what
 * collshim-abi.so does (comm/abi/mpi.h): by the same text of the standard, and compared with MPIs'
 * headers by the same test. */
#ifndef TESTS_ABI_MPI_H
#define TESTS_ABI_MPI_H

#include "../../../src/comm/abi/mpi.h"

typedef struct MPI_ABI_Session *MPI_Session;

typedef void MPI_User_function(void *in, void *inout, int *count, MPI_Datatype *type);
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *code, ...);

#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)
#define MPI_SESSION_NULL ((MPI_Session)0x120)
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x142)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)

#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_ARGV_NULL ((char **)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)

#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_GROUP 9
#define MPI_ERR_OP 10
#define MPI_ERR_TOPOLOGY 11
#define MPI_ERR_DIMS 12
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_PENDING 18
#define MPI_ERR_KEYVAL 36

#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-2)
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)

#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1024
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_MULTIPLE 4096

#define MPI_ORDER_FORTRAN 15

#define MPI_DISTRIBUTE_CYCLIC 18

#define MPI_IDENT 201
#define MPI_CONGRUENT 202
#define MPI_SIMILAR 203
#define MPI_UNEQUAL 204

#define CS_MPI(name, parameters)                                                                   \
	int MPI_##name parameters;                                                                 \
	int PMPI_##name parameters;

CS_MPI(Abi_get_version, (int *major, int *minor))
CS_MPI(Cart_create, (MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
		     int may_reorder, MPI_Comm *made))
CS_MPI(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made))
CS_MPI(Comm_create_errhandler, (MPI_Comm_errhandler_function *function, MPI_Errhandler *handler))
CS_MPI(Comm_create_from_group,
       (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made))
CS_MPI(Comm_dup, (MPI_Comm comm, MPI_Comm *made))
CS_MPI(Comm_remote_group, (MPI_Comm comm, MPI_Group *group))
CS_MPI(Comm_remote_size, (MPI_Comm comm, int *size))
CS_MPI(Comm_spawn, (const char *command, char *argv[], int processes, MPI_Info info, int root,
		    MPI_Comm comm, MPI_Comm *made, int codes[]))
CS_MPI(Finalize, (void))
CS_MPI(Get_address, (const void *place, MPI_Aint *address))
CS_MPI(Group_from_session_pset, (MPI_Session session, const char *name, MPI_Group *group))
CS_MPI(Group_incl, (MPI_Group from, int count, const int ranks[], MPI_Group *group))
CS_MPI(Group_size, (MPI_Group group, int *size))
CS_MPI(Intercomm_create,
       (MPI_Comm comm, int leader, MPI_Comm bridge, int remote_leader, int tag, MPI_Comm *made))
CS_MPI(Intercomm_merge, (MPI_Comm comm, int is_high, MPI_Comm *made))
CS_MPI(Op_create, (MPI_User_function *function, int is_commutative, MPI_Op *op))
CS_MPI(Op_free, (MPI_Op *op))
CS_MPI(Pack_size, (int count, MPI_Datatype type, MPI_Comm comm, int *bytes))
CS_MPI(Recv, (void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
	      MPI_Status *status))
CS_MPI(Recv_init, (void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
		   MPI_Request *request))
CS_MPI(Send, (const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm))
CS_MPI(Send_init, (const void *buffer, int count, MPI_Datatype type, int dest, int tag,
		   MPI_Comm comm, MPI_Request *request))
CS_MPI(Session_finalize, (MPI_Session *session))
CS_MPI(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session *session))
CS_MPI(Type_create_darray,
       (int size, int rank, int dimensions, const int sizes[], const int distributions[],
			    const int arguments[], const int process_sizes[], int order,
			    MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_create_hindexed,
       (int count, const int lengths[], const MPI_Aint displs[], MPI_Datatype old,
	MPI_Datatype *type))
CS_MPI(Type_create_hindexed_block,
       (int count, int length, const MPI_Aint displs[], MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_create_indexed_block,
       (int count, int length, const int displs[], MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_create_resized, (MPI_Datatype old, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *type))
CS_MPI(Type_create_subarray,
       (int dimensions, const int sizes[], const int part_sizes[], const int starts[], int order,
			      MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_dup, (MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_indexed,
       (int count, const int lengths[], const int displs[], MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_size, (MPI_Datatype type, int *size))
CS_MPI(Type_vector, (int count, int length, int stride, MPI_Datatype old, MPI_Datatype *type))
#undef CS_MPI

double MPI_Wtime(void);
double PMPI_Wtime(void);

#endif
