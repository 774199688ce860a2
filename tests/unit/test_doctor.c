/* What collshim-info --doctor says, of facts that are made up and of devices behind a fake table of
 * verbs. */
#include "unit.h"

#include "base/parse.h"
#include "ib/doctor.h"
#include "tools/doctor.h"

#include <errno.h>

static struct cs_doctor doctor;
static char *said;
static size_t said_bytes;

static void
begin(void)
{
	doctor = (struct cs_doctor){ .out = open_memstream(&said, &said_bytes) };
	assert_non_null(doctor.out);
}

/* Of what was said since begin: the lines, and how many problems. Freed with the next. */
static void
expect_said(int problems, const char *lines)
{
	fclose(doctor.out);
	if (strcmp(said, lines) || doctor.problems != problems)
		fail_msg("%d problems\n%sexpected %d\n%s", doctor.problems, said, problems, lines);
	free(said);
}

static void
expect_part(int problems, const char *part)
{
	fclose(doctor.out);
	assert_contains(said, part);
	assert_int_equal(doctor.problems, problems);
	free(said);
}

/* --- settings, modules ------------------------------------------------------------------------ */

TEST(each_complaint_is_a_problem)
{
	struct cs_settings settings = { 0 };
	begin();
	cs_doctor_settings(&doctor, &settings, "");
	expect_said(0, "  ok       variables and tuning file are understood\n");
	settings.is_disabled = true;
	settings.fake_nodes = "2";
	begin();
	cs_doctor_settings(&doctor, &settings, "one\ntwo\n");
	expect_said(2, "  problem  one\n  problem  two\n  note     COLLSHIM_DISABLE=1: every call "
		       "goes to the MPI\n"
		       "  note     COLLSHIM_FAKE_NODES=2: for tests, ranks of one node are taken "
		       "for ranks of several\n");
}

TEST(one_module_is_enough_and_none_is_a_problem)
{
	struct cs_module_facts facts = { "/l/collshim", true, true, true, true };
	begin();
	cs_doctor_modules(&doctor, &facts);
	expect_said(0, "  ok       for MPICH: /l/collshim/collshim-mpich.so\n"
		       "  ok       for Open MPI: /l/collshim/collshim-openmpi.so\n"
		       "  ok       for MPI's standard ABI: /l/collshim/collshim-abi.so\n");
	facts.has_mpich = false;
	begin();
	cs_doctor_modules(&doctor, &facts);
	expect_said(0, "  note     for MPICH there is no module: its programs' calls all go to it\n"
		       "  ok       for Open MPI: /l/collshim/collshim-openmpi.so\n"
		       "  ok       for MPI's standard ABI: /l/collshim/collshim-abi.so\n");
	facts.has_openmpi = facts.has_abi = false;
	begin();
	cs_doctor_modules(&doctor, &facts);
	expect_part(1, "  problem  there is no module in /l/collshim, so every call goes to the "
		       "MPI: install");
}

/* --- the node --------------------------------------------------------------------------------- */

static struct cs_segment_facts
usual_segments(void)
{
	return (struct cs_segment_facts){ .shm_total = (size_t)64 << 20,
					  .shm_free = (size_t)60 << 20, .memory = (size_t)8 << 30,
					  .memory_limit = "memory.max", .file_limit = CS_INF,
					  .budget = (size_t)256 << 20, .huge = "always" };
}

TEST(segments_need_dev_shm_only_without_memfd)
{
	struct cs_segment_facts facts = usual_segments();
	begin();
	cs_doctor_segments(&doctor, &facts);
	expect_said(0, "  ok       segments are anonymous memory (memfd); the size of /dev/shm "
		       "does not matter to them\n"
		       "  note     /dev/shm has 60 MiB free of 64 MiB; a job may take 256 MiB "
		       "(shm_budget)\n"
		       "  ok       the kernel may give segments huge pages (shmem_enabled: "
		       "always)\n");
	facts.memfd_error = EPERM;
	begin();
	cs_doctor_segments(&doctor, &facts);
	assert_non_null(doctor.segments);
	expect_part(1, "  note     anonymous memory (memfd) cannot be shared: Operation not "
		       "permitted; /dev/shm is used\n"
		       "  ok       segments lie in /dev/shm\n"
		       "  problem  /dev/shm has 60 MiB free of 64 MiB, less than the budget of a "
		       "job (shm_budget: 256 MiB)");
	facts.budget = (size_t)16 << 20;
	begin();
	cs_doctor_segments(&doctor, &facts);
	expect_part(0, "  ok       /dev/shm has 60 MiB free of 64 MiB; a job may take 16 MiB "
		       "(shm_budget)\n");
	/* No budget is no promise. */
	facts.budget = CS_INF;
	begin();
	cs_doctor_segments(&doctor, &facts);
	expect_part(0, "  note     /dev/shm has 60 MiB free of 64 MiB, less than the budget of a "
		       "job (shm_budget: unlimited)");
}

TEST(what_was_asked_for_and_cannot_be_is_a_problem)
{
	struct cs_segment_facts facts = usual_segments();
	facts.kind = CS_SHM_MEMFD;
	facts.memfd_error = ENOSYS;
	begin();
	cs_doctor_segments(&doctor, &facts);
	assert_null(doctor.segments);
	expect_part(1, "  problem  anonymous memory (memfd) cannot be shared: Function not "
		       "implemented: try COLLSHIM_SHM=auto\n");
	facts.kind = CS_SHM_NAMED;
	facts.named_error = ENOENT;
	facts.memfd_error = 0;
	begin();
	cs_doctor_segments(&doctor, &facts);
	assert_null(doctor.segments);
	expect_part(1, "  problem  a segment in /dev/shm cannot be made and shared: No such file "
		       "or directory;");
	facts = usual_segments();
	facts.file_limit = 1 << 20;
	facts.memory = 1 << 20;
	facts.huge = "never";
	begin();
	cs_doctor_segments(&doctor, &facts);
	expect_part(1, "  note     1 MiB of memory are free (memory.max), of which segments have a "
		       "quarter at most: less "
		       "than a job may take (shm_budget: 256 MiB)\n"
		       "  problem  files may have 1 MiB (ulimit -f), segments too; a job may take "
		       "256 MiB: raise fsize in "
		       "/etc/security/limits.conf\n"
		       "  note     segments have small pages (shmem_enabled: never);");
	facts.kind = CS_SHM_OFF;
	begin();
	cs_doctor_segments(&doctor, &facts);
	expect_said(0, "  note     COLLSHIM_SHM=off: every call goes to the MPI\n");
}

TEST(a_refused_copy_names_what_refuses_it)
{
	struct cs_copy_facts facts = { CS_SWITCH_AUTO, 0, 1 };
	begin();
	cs_doctor_copies(&doctor, &facts);
	assert_non_null(doctor.copies);
	expect_said(0, "  ok       a process may read another's memory (process_vm_readv)\n");
	facts.error = EPERM;
	begin();
	cs_doctor_copies(&doctor, &facts);
	assert_null(doctor.copies);
	expect_part(0, "so large messages are copied twice: kernel.yama.ptrace_scope is 1; 0 would "
		       "allow it\n");
	facts = (struct cs_copy_facts){ CS_SWITCH_ON, EPERM, -1 };
	begin();
	cs_doctor_copies(&doctor, &facts);
	expect_part(1, "  problem  a process may not read another's memory (process_vm_readv: "
		       "Operation not permitted), so large "
		       "messages are copied twice: in a container, allow the call or the "
		       "capability SYS_PTRACE\n");
	facts.wish = CS_SWITCH_OFF;
	begin();
	cs_doctor_copies(&doctor, &facts);
	expect_part(0, "  note     COLLSHIM_CMA=off:");
}

TEST(cores_are_told_from_their_hardware_threads)
{
	struct cs_topo_counts counts = { 2, 4, 64, 128, 2, 4, 64, 128 };
	begin();
	cs_doctor_cores(&doctor, &counts);
	expect_said(0, "  ok       this process may use 128 of 128 hardware threads, on 64 of 64 "
		       "cores, in 4 of 4 NUMA "
		       "domains, in 2 of 2 packages\n"
		       "  note     cores have several hardware threads: with more than 64 ranks "
		       "here, some share a core\n");
	counts = (struct cs_topo_counts){ 2, 4, 64, 128, 1, 1, 8, 8 };
	begin();
	cs_doctor_cores(&doctor, &counts);
	expect_said(0, "  note     this process is bound, it may use 8 of 128 hardware threads, on "
		       "8 of 64 cores, in 1 of 4 NUMA "
		       "domains, in 1 of 2 packages\n");
	counts = (struct cs_topo_counts){ 0 };
	begin();
	cs_doctor_cores(&doctor, &counts);
	expect_said(0, "  note     hwloc cannot tell cores and NUMA domains\n");
}

/* --- locked memory ---------------------------------------------------------------------------- */

TEST(too_little_lockable_memory_is_a_problem_where_there_is_a_device)
{
	static const struct {
		struct cs_lock_facts facts;
		int problems;
		const char *said;
	} cases[] = {
		{ { 65536, 65536, false, true, 64 << 20, 256 << 20 }, 1,
		  "  problem  64 KiB of memory may be locked (ulimit -l); verbs need 64 MiB "
		  "(ib_memory): raise memlock in "
		  "/etc/security/limits.conf\n" },
		{ { 65536, CS_INF, false, true, 64 << 20, 256 << 20 }, 1,
		  "  problem  64 KiB of memory may be locked (ulimit -l); verbs need 64 MiB "
		  "(ib_memory): ulimit -l unlimited "
		  "where the job starts\n" },
		{ { 65536, 65536, false, false, 64 << 20, 256 << 20 }, 0,
		  "  note     64 KiB of memory may be locked (ulimit -l); verbs need 64 MiB "
		  "(ib_memory): raise memlock in "
		  "/etc/security/limits.conf\n" },
		{ { 65536, 65536, true, true, 64 << 20, 256 << 20 }, 0,
		  "  ok       this process may lock all memory (CAP_IPC_LOCK)\n" },
		{ { 100 << 20, 100 << 20, false, true, 64 << 20, 256 << 20 }, 0,
		  "  note     100 MiB of memory may be locked (ulimit -l), enough for 64 MiB of "
		  "slots (ib_memory), but not for "
		  "256 MiB of the program's memory besides (ib_cache)\n" },
		{ { 320 << 20, 320 << 20, false, true, 64 << 20, 256 << 20 }, 0,
		  "  ok       320 MiB of memory may be locked (ulimit -l); verbs take up to 64 MiB "
		  "(ib_memory) and keep 256 MiB "
		  "of the program's (ib_cache)\n" },
		{ { CS_INF, CS_INF, false, true, CS_INF, CS_INF }, 0,
		  "  ok       unlimited memory may be locked (ulimit -l); verbs take up to "
		  "unlimited (ib_memory) and keep "
		  "unlimited of the program's (ib_cache)\n" },
		{ { (size_t)3 << 29, (size_t)3 << 29, false, true, CS_INF, 0 }, 1,
		  "  problem  1.5 GiB of memory may be locked (ulimit -l); verbs need unlimited "
		  "(ib_memory): raise memlock in "
		  "/etc/security/limits.conf\n" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		begin();
		cs_doctor_locking(&doctor, &cases[i].facts);
		expect_said(cases[i].problems, cases[i].said);
	}
}

TEST(what_cannot_be_watched_is_a_note)
{
	begin();
	cs_doctor_watch(&doctor, 0, 1);
	cs_doctor_watch(&doctor, EPERM, 1);
	cs_doctor_watch(&doctor, ENOSYS, 1);
	cs_doctor_watch(&doctor, EPERM, 0);
	expect_said(0, "  ok       changes of the program's memory can be watched (userfaultfd), "
		       "so registrations are kept\n"
		       "  note     changes of the program's memory cannot be watched (userfaultfd: "
		       "Operation not permitted), so "
		       "verbs register it anew for each message: in a container, allow the call "
		       "userfaultfd\n"
		       "  note     changes of the program's memory cannot be watched (userfaultfd: "
		       "Function not implemented), so "
		       "verbs register it anew for each message\n"
		       "  note     ib_cache is 0: the program's memory is registered anew for each "
		       "message\n");
}

/* --- verbs behind a fake table ---------------------------------------------------------------- */

#define DEVICES 3

static struct fake {
	int devices;            /* -1: the kernel has no RDMA */
	const char *refuses;    /* the verb that fails, with `error` */
	int error;
	bool is_down;           /* all ports */
	int opened, made;       /* what is not given back; must be 0 at the end */
	size_t registered;      /* bytes of the last registration */
	uint32_t receives;      /* of the last queue pair */
} fake;

static struct ibv_device devices[DEVICES];
static struct ibv_context contexts[DEVICES];
static struct ibv_pd a_pd;
static struct ibv_mr a_mr;
static struct ibv_cq a_cq;
static struct ibv_qp a_qp;

static bool
is_refused(const char *verb)
{
	errno = fake.error;
	return fake.refuses && !strcmp(fake.refuses, verb);
}

static struct ibv_device **
fake_list(int *count)
{
	static struct ibv_device *list[DEVICES + 1];
	if (fake.devices < 0) {
		errno = ENOSYS;
		return NULL;
	}
	*count = fake.devices;
	for (int i = 0; i < fake.devices; i++)
		list[i] = &devices[i];
	list[fake.devices] = NULL;
	fake.made++;
	return list;
}

static void
fake_free_list(struct ibv_device **list)
{
	fake.made--;
}

static const char *
fake_name(struct ibv_device *device)
{
	static const char *const names[] = { "rdma0", "rdma1", "rdma2" };
	return names[device - devices];
}

static struct ibv_context *
fake_open(struct ibv_device *device)
{
	if (is_refused("open_device"))
		return NULL;
	fake.opened++;
	contexts[device - devices] = (struct ibv_context){ .device = device, .async_fd = -1 };
	return &contexts[device - devices];
}

static int
fake_close(struct ibv_context *context)
{
	fake.opened--;
	return 0;
}

static uint64_t
fake_identity(struct ibv_context *context)
{
	return 1;
}

static int
fake_query(struct ibv_context *context, struct ibv_device_attr *attributes)
{
	*attributes = (struct ibv_device_attr){ .phys_port_cnt = 1, .max_cqe = 100,
						.max_qp_wr = 1000 };
	return 0;
}

static int
fake_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attributes)
{
	*attributes = (struct ibv_port_attr){ .state = fake.is_down
					      ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
					      .link_layer = IBV_LINK_LAYER_INFINIBAND, .lid = 7,
					      .active_mtu = IBV_MTU_4096, .max_msg_sz = 1 << 30 };
	return 0;
}

static ssize_t
fake_gids(struct ibv_context *context, struct ibv_gid_entry *entries, size_t room)
{
	entries[0] = (struct ibv_gid_entry){ .port_num = 1 };
	return 1;
}

static struct ibv_pd *
fake_alloc_pd(struct ibv_context *context)
{
	if (is_refused("alloc_pd"))
		return NULL;
	fake.made++;
	return &a_pd;
}

static int
fake_dealloc_pd(struct ibv_pd *pd)
{
	fake.made--;
	return 0;
}

static struct ibv_mr *
fake_reg_mr(struct ibv_pd *pd, void *base, size_t bytes, int access)
{
	if (is_refused("reg_mr"))
		return NULL;
	fake.made++;
	fake.registered = bytes;
	return &a_mr;
}

static int
fake_dereg_mr(struct ibv_mr *mr)
{
	fake.made--;
	return 0;
}

static struct ibv_cq *
fake_create_cq(struct ibv_context *context, int entries)
{
	if (is_refused("create_cq") || entries > 100)
		return NULL;
	fake.made++;
	return &a_cq;
}

static int
fake_destroy_cq(struct ibv_cq *cq)
{
	fake.made--;
	return 0;
}

static struct ibv_qp *
fake_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	if (is_refused("create_qp"))
		return NULL;
	fake.made++;
	fake.receives = attributes->cap.max_recv_wr;
	return &a_qp;
}

static int
fake_destroy_qp(struct ibv_qp *qp)
{
	fake.made--;
	return 0;
}

static const struct cs_verbs fake_verbs = {
	.get_device_list = fake_list, .free_device_list = fake_free_list,
		.get_device_name = fake_name,
	.open_device = fake_open, .close_device = fake_close, .query_device = fake_query,
	.query_port = fake_query_port, .identity = fake_identity, .query_gid_table = fake_gids,
	.alloc_pd = fake_alloc_pd, .dealloc_pd = fake_dealloc_pd, .reg_mr = fake_reg_mr,
	.dereg_mr = fake_dereg_mr, .create_cq = fake_create_cq, .destroy_cq = fake_destroy_cq,
	.create_qp = fake_create_qp, .destroy_qp = fake_destroy_qp,
};

/* rdma0 is in the other package, rdma1 near, rdma2 in the other domain. */
static int
fake_distance(const char *device)
{
	return device[4] == '0' ? 2 : device[4] == '1' ? 0 : 1;
}

static struct cs_limits limits;

static struct cs_verbs_facts
usual_verbs(enum cs_wire_kind wire, const char *device)
{
	fake = (struct fake){ .devices = DEVICES, .error = ENOMEM };
	limits = (struct cs_limits){ .wire = wire, .ib_slots = 16, .ib_slot_bytes = 2048 };
	return (struct cs_verbs_facts){ .verbs = &fake_verbs, .distance = fake_distance,
					.device = device, .limits = &limits };
}

/* Everything is given back, whatever was refused. */
static bool
look(const struct cs_verbs_facts *facts)
{
	begin();
	bool has_device = cs_doctor_verbs(&doctor, facts);
	assert_int_equal(fake.opened, 0);
	assert_int_equal(fake.made, 0);
	return has_device;
}

#define PORTS \
	"  ok       rdma0:1: InfiniBand, LID 7, MTU 4096, active, in another package\n" \
	"  ok       rdma1:1: InfiniBand, LID 7, MTU 4096, active, near\n" \
	"  ok       rdma2:1: InfiniBand, LID 7, MTU 4096, active, in another NUMA domain of this " \
	"package\n"

TEST(the_nearest_device_is_tried_and_all_is_given_back)
{
	struct cs_verbs_facts facts = usual_verbs(CS_WIRE_AUTO, NULL);
	assert_true(look(&facts));
	assert_string_equal(doctor.wire, "verbs by rdma1:1");
	assert_int_equal(fake.registered, 1 << 20);
	assert_int_equal(fake.receives, 16 + 40);
	expect_said(0, PORTS "  ok       rdma1:1 would be used (the nearest that is active)\n"
			     "  ok       rdma1:1 granted 1 MiB of registered memory, a completion "
			     "queue and a queue pair\n");
	/* Slots that need more than a slab's usual size. */
	facts = usual_verbs(CS_WIRE_IB, "rdma2");
	limits.ib_slot_bytes = 65536;
	assert_true(look(&facts));
	assert_string_equal(doctor.wire, "verbs by rdma2:1");
	assert_int_equal(fake.registered, 2 << 20);
	expect_part(0, "  ok       rdma2:1 would be used (COLLSHIM_IB_DEVICE)\n");
}

static int distances_asked;

static int
counted_distance(const char *device)
{
	distances_asked++;
	return fake_distance(device);
}

/* The first question of a process loads the machine's topology. */
TEST(distance_is_asked_for_only_where_there_is_a_choice)
{
	static const struct {
		int devices;
		const char *wanted, *chosen;
		bool is_asked;
	} cases[] = { { 1, NULL, "rdma0", false }, { 3, "rdma2", "rdma2", false },
		      { 3, NULL, "rdma1", true } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cs_ib_port port;
		char why[256];
		usual_verbs(CS_WIRE_AUTO, NULL);
		fake.devices = cases[i].devices;
		distances_asked = 0;
		assert_int_equal(cs_ib_port_open(&port, &fake_verbs, cases[i].wanted,
						 counted_distance, why, sizeof why), CS_OK);
		assert_string_equal(port.chosen.device, cases[i].chosen);
		assert_int_equal(distances_asked > 0, cases[i].is_asked);
		cs_ib_port_close(&port);
	}
}

TEST(whatever_is_refused_is_named_with_its_reason)
{
	static const struct {
		const char *verb, *said;
	} cases[] = {
		{ "alloc_pd", "refused a protection domain (ibv_alloc_pd): Cannot allocate "
			      "memory;" },
		{ "reg_mr", "refused registered memory (ibv_reg_mr): Cannot allocate memory; a "
			    "connection needs that, and 1 MiB "
			    "registered: raise the limit of locked memory (ulimit -l)\n" },
		{ "create_cq", "refused a completion queue (ibv_create_cq): Cannot allocate "
			       "memory;" },
		{ "create_qp", "refused a queue pair (ibv_create_qp): Cannot allocate memory;" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_verbs_facts facts = usual_verbs(CS_WIRE_AUTO, NULL);
		fake.refuses = cases[i].verb;
		assert_true(look(&facts));
		assert_string_equal(doctor.wire, "the MPI's messages");
		expect_part(1, cases[i].said);
	}
}

TEST(a_machine_without_devices_is_a_problem_only_if_they_were_asked_for)
{
	static const struct {
		enum cs_wire_kind wire;
		const char *device;
		int problems;
	} cases[] = { { CS_WIRE_AUTO, NULL, 0 }, { CS_WIRE_HOST, NULL, 0 }, { CS_WIRE_HOST, "rdma0",
									      0 },
		      { CS_WIRE_IB, NULL, 1 }, { CS_WIRE_AUTO, "rdma0", 1 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_verbs_facts facts = usual_verbs(cases[i].wire, cases[i].device);
		facts.verbs = NULL;
		facts.missing = "libibverbs.so.1 is not installed";
		assert_false(look(&facts));
		expect_part(cases[i].problems, "libibverbs.so.1 is not installed: a package "
					       "rdma-core or libibverbs1 brings it");
		facts = usual_verbs(cases[i].wire, cases[i].device);
		fake.devices = -1;
		assert_false(look(&facts));
		expect_part(cases[i].problems, "the kernel has no RDMA: its module ib_uverbs and "
					       "the device's driver are not");
		facts = usual_verbs(cases[i].wire, cases[i].device);
		fake.devices = 0;
		assert_false(look(&facts));
		expect_part(cases[i].problems, "there is no RDMA device");
		facts = usual_verbs(cases[i].wire, cases[i].device);
		fake.is_down = true;
		assert_false(look(&facts));
		expect_part(cases[i].problems, "  note     rdma1:1 cannot be used: its port is not "
					       "active (state 1 of 4)\n");
	}
}

TEST(a_device_that_is_not_there_is_a_problem)
{
	struct cs_verbs_facts facts = usual_verbs(CS_WIRE_AUTO, "rdma7");
	assert_false(look(&facts));
	expect_said(1, PORTS "  problem  no device is used: there is no device rdma7 "
			     "(COLLSHIM_IB_DEVICE)\n");
	facts = usual_verbs(CS_WIRE_AUTO, NULL);
	fake.refuses = "open_device";
	fake.error = EACCES;
	assert_false(look(&facts));
	expect_part(0, "  note     rdma0 cannot be used: it cannot be opened: Permission denied\n");
	/* Nothing is tried for a wire that is not wanted. */
	facts = usual_verbs(CS_WIRE_HOST, NULL);
	assert_false(look(&facts));
	assert_int_equal(fake.registered, 0);
	expect_said(0, "  note     the wire is host (COLLSHIM_WIRE, or the limit wire): verbs are "
		       "not used\n" PORTS);
}

TEST(watching_leaves_the_watched_page_alone)
{
	errno = 0;
	if (!cs_ib_try_watch()) {
		assert_int_not_equal(errno, 0);
		return;
	}
	for (int i = 0; i < 100; i++) /* no descriptor is left */
		assert_true(cs_ib_try_watch());
	int next = dup(STDERR_FILENO);
	assert_true(next < 50);
	close(next);
}

RUN_TESTS(NULL, NULL)
