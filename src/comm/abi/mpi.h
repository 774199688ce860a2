/* comm/abi/mpi.h — the mpi.h of collshim-abi.so: of MPI's standard ABI (version 1, since MPI 5.0)
 * what the module asks for.
 *
 * Values and types are those of the standard's text, not an MPI's file: 21.3 (MPI_Status; MPI_Aint
 * and other integers; callbacks that are constants), 21.5 (handles: tables of bit patterns) and
 * A.1.1 (integers). Programs and libmpi_abi agree on them with every MPI, so this module is built
 * without one. tests/abi/header_test compares all of it with the headers of MPIs, if there are
 * any. */
#ifndef CS_COMM_ABI_MPI_H
#define CS_COMM_ABI_MPI_H

#include <stdint.h>

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
/* MPI_ABI_VERSION is in MPIs' own headers, too (Open MPI 6: -1). */
#define CS_STANDARD_ABI
#define MPI_ABI_SUBVERSION 0

/* --- types: 21.3 ------------------------------------------------------------------------------ */

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

/* Eight ints. */
typedef struct {
	int MPI_SOURCE;
	int MPI_TAG;
	int MPI_ERROR;
	int MPI_internal[5];
} MPI_Status;

/* Handles: pointers to the MPI's own structures, or small constants. */
typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Request *MPI_Request;

typedef int MPI_Grequest_cancel_function(void *extra, int is_complete);
typedef int MPI_Grequest_free_function(void *extra);
typedef int MPI_Grequest_query_function(void *extra, MPI_Status *status);
typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int keyval, void *extra, void *in, void *out,
					int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int keyval, void *value, void *extra);

/* --- handles: 21.5 ---------------------------------------------------------------------------- */

/* 0b00_00_001x_xxxx: operations. Bits 4 and 3: arithmetic, of bits, logical, others. */
#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_BOR ((MPI_Op)0x29)
#define MPI_BXOR ((MPI_Op)0x2a)
#define MPI_LAND ((MPI_Op)0x30)
#define MPI_LOR ((MPI_Op)0x31)
#define MPI_LXOR ((MPI_Op)0x32)
#define MPI_MINLOC ((MPI_Op)0x38)
#define MPI_MAXLOC ((MPI_Op)0x39)
#define MPI_REPLACE ((MPI_Op)0x3c)
#define MPI_NO_OP ((MPI_Op)0x3d)

/* 0b00_01_xxxx_xxxx: all other handles but datatypes. */
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)

/* 0b00_10_0xxx_xxxx: types, by language and kind. */
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER ((MPI_Datatype)0x232)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_WCHAR ((MPI_Datatype)0x23c)

/* 0b00_10_01xx_xxxx and 0b00_10_11xx_xxxx: those with a size of their own, whose logarithm is in
 * bits 5 to 3; C's and Fortran's. */
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_REAL8 ((MPI_Datatype)0x2da)

/* --- other constants: A.1.1 ------------------------------------------------------------------- */

#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)

#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_LIBRARY_VERSION_STRING 8192

/* Error classes. */
#define MPI_SUCCESS 0
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_IN_STATUS 19
#define MPI_ERR_NO_MEM 39

#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-2)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID 0

#define MPI_COMBINER_NAMED 101
#define MPI_COMBINER_DUP 102
#define MPI_COMBINER_CONTIGUOUS 103
#define MPI_COMBINER_VECTOR 104
#define MPI_COMBINER_HVECTOR 105
#define MPI_COMBINER_INDEXED 106
#define MPI_COMBINER_HINDEXED 107
#define MPI_COMBINER_INDEXED_BLOCK 108
#define MPI_COMBINER_HINDEXED_BLOCK 109
#define MPI_COMBINER_STRUCT 110
#define MPI_COMBINER_SUBARRAY 111
#define MPI_COMBINER_DARRAY 112
#define MPI_COMBINER_F90_REAL 113
#define MPI_COMBINER_F90_COMPLEX 114
#define MPI_COMBINER_F90_INTEGER 115
#define MPI_COMBINER_RESIZED 116

#define MPI_ORDER_C 12
#define MPI_DISTRIBUTE_NONE 16
#define MPI_DISTRIBUTE_BLOCK 17
#define MPI_DISTRIBUTE_DFLT_DARG 19

#define MPI_COMM_TYPE_SHARED 221

#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_MULTIPLE 4096

/* --- functions -------------------------------------------------------------------------------- */

/* Each function has two names. */
#define CS_MPI(name, parameters)                                                                   \
	int MPI_##name parameters;                                                                 \
	int PMPI_##name parameters;

/* A collective, its non-blocking form and the one that makes a persistent request. */
#define CS_FORMS(name, begun, made, ...) \
	CS_MPI(name, (__VA_ARGS__)) \
	CS_MPI(begun, (__VA_ARGS__, MPI_Request *request)) \
	CS_MPI(made, (__VA_ARGS__, MPI_Info info, MPI_Request *request))

/* As in calls.def. */
CS_FORMS(Allgather, Iallgather, Allgather_init, const void *send, int send_count,
	MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
CS_FORMS(Allgatherv, Iallgatherv, Allgatherv_init, const void *send, int send_count,
	MPI_Datatype send_type, void *recv, const int recv_counts[], const int displs[],
	MPI_Datatype recv_type, MPI_Comm comm)
CS_FORMS(Allreduce, Iallreduce, Allreduce_init, const void *send, void *recv, int count,
	MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_FORMS(Alltoall, Ialltoall, Alltoall_init, const void *send, int send_count,
	MPI_Datatype send_type, void *recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
CS_FORMS(Alltoallv, Ialltoallv, Alltoallv_init, const void *send, const int send_counts[],
	const int send_displs[], MPI_Datatype send_type, void *recv, const int recv_counts[],
	const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm)
CS_FORMS(Alltoallw, Ialltoallw, Alltoallw_init, const void *send, const int send_counts[],
	const int send_displs[], const MPI_Datatype send_types[], void *recv,
	const int recv_counts[], const int recv_displs[], const MPI_Datatype recv_types[],
	MPI_Comm comm)
CS_FORMS(Barrier, Ibarrier, Barrier_init, MPI_Comm comm)
CS_FORMS(Bcast, Ibcast, Bcast_init, void *buffer, int count, MPI_Datatype type, int root,
	MPI_Comm comm)
CS_MPI(Comm_disconnect, (MPI_Comm *comm))
CS_MPI(Comm_free, (MPI_Comm *comm))
CS_MPI(Comm_idup, (MPI_Comm comm, MPI_Comm *copy, MPI_Request *request))
CS_FORMS(Exscan, Iexscan, Exscan_init, const void *send, void *recv, int count, MPI_Datatype type,
	MPI_Op op, MPI_Comm comm)
CS_FORMS(Gather, Igather, Gather_init, const void *send, int send_count, MPI_Datatype send_type,
	void *recv, int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
CS_FORMS(Gatherv, Igatherv, Gatherv_init, const void *send, int send_count, MPI_Datatype send_type,
	void *recv, const int recv_counts[], const int displs[], MPI_Datatype recv_type, int root,
	MPI_Comm comm)
CS_MPI(Init, (int *argc, char ***argv))
CS_MPI(Init_thread, (int *argc, char ***argv, int required, int *provided))
CS_MPI(Neighbor_allgather,
       (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
			    MPI_Datatype recv_type, MPI_Comm comm))
CS_MPI(Neighbor_allgatherv, (const void *send, int send_count, MPI_Datatype send_type, void *recv,
			     const int recv_counts[], const int displs[], MPI_Datatype recv_type,
			     MPI_Comm comm))
CS_MPI(Neighbor_alltoall,
       (const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
			   MPI_Datatype recv_type, MPI_Comm comm))
CS_MPI(Neighbor_alltoallv,
       (const void *send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
			    void *recv, const int recv_counts[], const int recv_displs[],
			    MPI_Datatype recv_type, MPI_Comm comm))
CS_MPI(Neighbor_alltoallw, (const void *send, const int send_counts[], const MPI_Aint send_displs[],
			    const MPI_Datatype send_types[], void *recv, const int recv_counts[],
			    const MPI_Aint recv_displs[], const MPI_Datatype recv_types[],
			    MPI_Comm comm))
CS_FORMS(Reduce, Ireduce, Reduce_init, const void *send, void *recv, int count, MPI_Datatype type,
	MPI_Op op, int root, MPI_Comm comm)
CS_FORMS(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, const void *send, void *recv,
	const int recv_counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_FORMS(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, const void *send,
	void *recv, int recv_count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_MPI(Request_free, (MPI_Request *request))
CS_FORMS(Scan, Iscan, Scan_init, const void *send, void *recv, int count, MPI_Datatype type,
	MPI_Op op, MPI_Comm comm)
CS_FORMS(Scatter, Iscatter, Scatter_init, const void *send, int send_count, MPI_Datatype send_type,
	void *recv, int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
CS_FORMS(Scatterv, Iscatterv, Scatterv_init, const void *send, const int send_counts[],
	const int displs[], MPI_Datatype send_type, void *recv, int recv_count,
	MPI_Datatype recv_type, int root, MPI_Comm comm)
CS_MPI(Start, (MPI_Request *request))
CS_MPI(Startall, (int count, MPI_Request requests[]))

CS_FORMS(Allgather_c, Iallgather_c, Allgather_init_c, const void *send, MPI_Count send_count,
	MPI_Datatype send_type, void *recv, MPI_Count recv_count, MPI_Datatype recv_type,
	MPI_Comm comm)
CS_FORMS(Allgatherv_c, Iallgatherv_c, Allgatherv_init_c, const void *send, MPI_Count send_count,
	MPI_Datatype send_type, void *recv, const MPI_Count recv_counts[], const MPI_Aint displs[],
	MPI_Datatype recv_type, MPI_Comm comm)
CS_FORMS(Allreduce_c, Iallreduce_c, Allreduce_init_c, const void *send, void *recv,
	MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_FORMS(Alltoall_c, Ialltoall_c, Alltoall_init_c, const void *send, MPI_Count send_count,
	MPI_Datatype send_type, void *recv, MPI_Count recv_count, MPI_Datatype recv_type,
	MPI_Comm comm)
CS_FORMS(Alltoallv_c, Ialltoallv_c, Alltoallv_init_c, const void *send,
	const MPI_Count send_counts[], const MPI_Aint send_displs[], MPI_Datatype send_type,
	void *recv, const MPI_Count recv_counts[], const MPI_Aint recv_displs[],
	MPI_Datatype recv_type, MPI_Comm comm)
CS_FORMS(Alltoallw_c, Ialltoallw_c, Alltoallw_init_c, const void *send,
	const MPI_Count send_counts[], const MPI_Aint send_displs[],
	const MPI_Datatype send_types[], void *recv, const MPI_Count recv_counts[],
	const MPI_Aint recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
CS_FORMS(Bcast_c, Ibcast_c, Bcast_init_c, void *buffer, MPI_Count count, MPI_Datatype type,
	int root, MPI_Comm comm)
CS_FORMS(Exscan_c, Iexscan_c, Exscan_init_c, const void *send, void *recv, MPI_Count count,
	MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_FORMS(Gather_c, Igather_c, Gather_init_c, const void *send, MPI_Count send_count,
	MPI_Datatype send_type, void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root,
	MPI_Comm comm)
CS_FORMS(Gatherv_c, Igatherv_c, Gatherv_init_c, const void *send, MPI_Count send_count,
	MPI_Datatype send_type, void *recv, const MPI_Count recv_counts[], const MPI_Aint displs[],
	MPI_Datatype recv_type, int root, MPI_Comm comm)
CS_MPI(Neighbor_allgather_c,
       (const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
			      MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm))
CS_MPI(Neighbor_allgatherv_c,
       (const void *send, MPI_Count send_count, MPI_Datatype send_type, void *recv,
			       const MPI_Count recv_counts[], const MPI_Aint displs[],
			       MPI_Datatype recv_type, MPI_Comm comm))
CS_MPI(Neighbor_alltoall_c, (const void *send, MPI_Count send_count, MPI_Datatype send_type,
			     void *recv, MPI_Count recv_count, MPI_Datatype recv_type,
			     MPI_Comm comm))
CS_MPI(Neighbor_alltoallv_c,
       (const void *send, const MPI_Count send_counts[], const MPI_Aint send_displs[],
			      MPI_Datatype send_type, void *recv, const MPI_Count recv_counts[],
			      const MPI_Aint recv_displs[], MPI_Datatype recv_type, MPI_Comm comm))
CS_MPI(Neighbor_alltoallw_c,
       (const void *send, const MPI_Count send_counts[], const MPI_Aint send_displs[],
			      const MPI_Datatype send_types[], void *recv,
			      const MPI_Count recv_counts[], const MPI_Aint recv_displs[],
			      const MPI_Datatype recv_types[], MPI_Comm comm))
CS_FORMS(Reduce_c, Ireduce_c, Reduce_init_c, const void *send, void *recv, MPI_Count count,
	MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
CS_FORMS(Reduce_scatter_c, Ireduce_scatter_c, Reduce_scatter_init_c, const void *send, void *recv,
	const MPI_Count recv_counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_FORMS(Reduce_scatter_block_c, Ireduce_scatter_block_c, Reduce_scatter_block_init_c,
	const void *send, void *recv, MPI_Count recv_count, MPI_Datatype type, MPI_Op op,
	MPI_Comm comm)
CS_FORMS(Scan_c, Iscan_c, Scan_init_c, const void *send, void *recv, MPI_Count count,
	MPI_Datatype type, MPI_Op op, MPI_Comm comm)
CS_FORMS(Scatter_c, Iscatter_c, Scatter_init_c, const void *send, MPI_Count send_count,
	MPI_Datatype send_type, void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root,
	MPI_Comm comm)
CS_FORMS(Scatterv_c, Iscatterv_c, Scatterv_init_c, const void *send, const MPI_Count send_counts[],
	const MPI_Aint displs[], MPI_Datatype send_type, void *recv, MPI_Count recv_count,
	MPI_Datatype recv_type, int root, MPI_Comm comm)

/* As in pmpi.def, and others that the engine calls. */
CS_MPI(Abort, (MPI_Comm comm, int code))
CS_MPI(Cancel, (MPI_Request *request))
CS_MPI(Comm_call_errhandler, (MPI_Comm comm, int code))
CS_MPI(Comm_compare, (MPI_Comm one, MPI_Comm other, int *relation))
CS_MPI(Comm_create_keyval,
       (MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove, int *keyval,
	void *extra))
CS_MPI(Comm_delete_attr, (MPI_Comm comm, int keyval))
CS_MPI(Comm_free_keyval, (int *keyval))
CS_MPI(Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler *handler))
CS_MPI(Comm_get_name, (MPI_Comm comm, char *name, int *length))
CS_MPI(Comm_get_parent, (MPI_Comm *parent))
CS_MPI(Comm_group, (MPI_Comm comm, MPI_Group *group))
CS_MPI(Comm_rank, (MPI_Comm comm, int *rank))
CS_MPI(Comm_set_attr, (MPI_Comm comm, int keyval, void *value))
CS_MPI(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler))
CS_MPI(Comm_size, (MPI_Comm comm, int *size))
CS_MPI(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *part))
CS_MPI(Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *part))
CS_MPI(Comm_test_inter, (MPI_Comm comm, int *flag))
CS_MPI(Errhandler_free, (MPI_Errhandler *handler))
CS_MPI(Error_class, (int code, int *error_class))
CS_MPI(Error_string, (int code, char *text, int *length))
CS_MPI(Finalized, (int *flag))
CS_MPI(Get_library_version, (char *text, int *length))
CS_MPI(Grequest_complete, (MPI_Request request))
CS_MPI(Grequest_start,
       (MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
	MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request))
CS_MPI(Group_free, (MPI_Group *group))
CS_MPI(Group_translate_ranks,
       (MPI_Group from, int count, const int from_ranks[], MPI_Group to, int to_ranks[]))
CS_MPI(Improbe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
		 MPI_Status *status))
CS_MPI(Initialized, (int *flag))
CS_MPI(Irecv, (void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
	       MPI_Request *request))
CS_MPI(Isend, (const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
	       MPI_Request *request))
CS_MPI(Issend, (const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
		MPI_Request *request))
CS_MPI(Mrecv, (void *buffer, int count, MPI_Datatype type, MPI_Message *message,
	       MPI_Status *status))
CS_MPI(Op_commutative, (MPI_Op op, int *flag))
CS_MPI(Pack, (const void *buffer, int count, MPI_Datatype type, void *packed, int bytes,
	      int *position, MPI_Comm comm))
CS_MPI(Query_thread, (int *provided))
CS_MPI(Reduce_local, (const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op))
CS_MPI(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status))
CS_MPI(Request_get_status_all, (int count, const MPI_Request requests[], int *flag,
				MPI_Status statuses[]))
CS_MPI(Request_get_status_any, (int count, const MPI_Request requests[], int *index, int *flag,
				MPI_Status *status))
CS_MPI(Request_get_status_some, (int count, const MPI_Request requests[], int *done, int indices[],
				 MPI_Status statuses[]))
CS_MPI(Sendrecv, (const void *send, int send_count, MPI_Datatype send_type, int dest, int send_tag,
		  void *recv, int recv_count, MPI_Datatype recv_type, int source, int recv_tag,
		  MPI_Comm comm, MPI_Status *status))
CS_MPI(Ssend_init, (const void *buffer, int count, MPI_Datatype type, int dest, int tag,
		    MPI_Comm comm, MPI_Request *request))
CS_MPI(Status_set_cancelled, (MPI_Status *status, int flag))
CS_MPI(Status_set_elements, (MPI_Status *status, MPI_Datatype type, int count))
CS_MPI(Test, (MPI_Request *request, int *flag, MPI_Status *status))
CS_MPI(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]))
CS_MPI(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status))
CS_MPI(Testsome, (int count, MPI_Request requests[], int *done, int indices[],
		  MPI_Status statuses[]))
CS_MPI(Type_commit, (MPI_Datatype *type))
CS_MPI(Type_contiguous, (int count, MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_create_hvector,
       (int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type))
CS_MPI(Type_create_struct,
       (int count, const int lengths[], const MPI_Aint displs[], const MPI_Datatype types[],
			    MPI_Datatype *type))
CS_MPI(Type_dup, (MPI_Datatype type, MPI_Datatype *copy))
CS_MPI(Type_free, (MPI_Datatype *type))
CS_MPI(Type_get_contents,
       (MPI_Datatype type, int integer_room, int address_room, int type_room, int integers[],
			   MPI_Aint addresses[], MPI_Datatype types[]))
CS_MPI(Type_get_envelope,
       (MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner))
CS_MPI(Type_get_extent, (MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent))
CS_MPI(Type_get_name, (MPI_Datatype type, char *name, int *length))
CS_MPI(Type_get_true_extent, (MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent))
CS_MPI(Type_size_x, (MPI_Datatype type, MPI_Count *size))
CS_MPI(Unpack, (const void *packed, int bytes, int *position, void *buffer, int count,
		MPI_Datatype type, MPI_Comm comm))
CS_MPI(Wait, (MPI_Request *request, MPI_Status *status))
CS_MPI(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]))
CS_MPI(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status))
CS_MPI(Waitsome, (int count, MPI_Request requests[], int *done, int indices[],
		  MPI_Status statuses[]))
#undef CS_MPI
#undef CS_FORMS

#endif
