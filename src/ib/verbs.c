/* ib/verbs.c — loads libibverbs and fills the table of its functions. */
#include "ib/verbs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* Exported by libibverbs under names that its header hides behind macros or inline functions. */
static ssize_t (*gid_table)(struct ibv_context *, struct ibv_gid_entry *, size_t, uint32_t, size_t);
static struct ibv_cq *(*make_cq)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int);
static enum ibv_fork_status (*fork_state)(void);

/* The directory that the kernel shows of it in sysfs: a device added later has another one, under
 * the same name too. */
static uint64_t
identity(struct ibv_context *context)
{
	struct stat directory;
	return stat(context->device->dev_path, &directory) ? 0 : directory.st_ino;
}

static ssize_t
query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t room)
{
	return gid_table(context, entries, room, 0, sizeof *entries);
}

static struct ibv_cq *
create_cq(struct ibv_context *context, int entries)
{
	return make_cq(context, entries, NULL, NULL, 0);
}

static int
is_fork_safe(void)
{
	return fork_state && fork_state() == IBV_FORK_UNNEEDED;
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	return qp->context->ops.post_send(qp, request, bad);
}

static int
post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	return qp->context->ops.post_recv(qp, request, bad);
}

static int
poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions)
{
	return cq->context->ops.poll_cq(cq, room, completions);
}

static struct cs_verbs verbs = {
	.identity = identity,
	.query_gid_table = query_gid_table,
	.create_cq = create_cq,
	.is_fork_safe = is_fork_safe,
	.post_send = post_send,
	.post_recv = post_recv,
	.poll_cq = poll_cq,
};

static const struct {
	const char *name;
	void *to;
	bool is_needed;
} names[] = {
	{ "ibv_get_device_list", &verbs.get_device_list, true },
	{ "ibv_free_device_list", &verbs.free_device_list, true },
	{ "ibv_get_device_name", &verbs.get_device_name, true },
	{ "ibv_open_device", &verbs.open_device, true },
	{ "ibv_close_device", &verbs.close_device, true },
	{ "ibv_query_device", &verbs.query_device, true },
	{ "ibv_query_port", &verbs.query_port, true },
	{ "_ibv_query_gid_table", &gid_table, true },
	{ "ibv_alloc_pd", &verbs.alloc_pd, true },
	{ "ibv_dealloc_pd", &verbs.dealloc_pd, true },
	{ "ibv_reg_mr", &verbs.reg_mr, true },
	{ "ibv_dereg_mr", &verbs.dereg_mr, true },
	{ "ibv_create_cq", &make_cq, true },
	{ "ibv_destroy_cq", &verbs.destroy_cq, true },
	{ "ibv_create_qp", &verbs.create_qp, true },
	{ "ibv_modify_qp", &verbs.modify_qp, true },
	{ "ibv_destroy_qp", &verbs.destroy_qp, true },
	{ "ibv_create_ah", &verbs.create_ah, true },
	{ "ibv_destroy_ah", &verbs.destroy_ah, true },
	{ "ibv_attach_mcast", &verbs.attach_mcast, true },
	{ "ibv_detach_mcast", &verbs.detach_mcast, true },
	{ "ibv_get_async_event", &verbs.get_async_event, true },
	{ "ibv_ack_async_event", &verbs.ack_async_event, true },
	{ "ibv_event_type_str", &verbs.event_type_str, true },
	{ "ibv_wc_status_str", &verbs.wc_status_str, true },
	{ "ibv_is_fork_initialized", &fork_state, false }, /* libibverbs 35 and later */
};

static bool
has_entries(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry = NULL;
	while (folder && (entry = readdir(folder)) && entry->d_name[0] == '.')
		;
	if (folder)
		closedir(folder);
	return entry;
}

/* A container may have the devices' files and no /sys, and the other way round. */
bool
cs_verbs_may_find(void)
{
	int saved = errno;
	bool may = has_entries("/sys/class/infiniband") || has_entries("/dev/infiniband");
	errno = saved;
	return may;
}

const struct cs_verbs *
cs_verbs_load(const char **why)
{
	static char missing[128];
	static bool is_loaded;
	if (is_loaded)
		return &verbs;
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		*why = "libibverbs.so.1 is not installed";
		return NULL;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		*(void **)names[i].to = dlsym(library, names[i].name);
		if (names[i].is_needed && !*(void **)names[i].to) {
			snprintf(missing, sizeof missing, "libibverbs.so.1 is too old: it has no "
							  "%s", names[i].name);
			*why = missing;
			dlclose(library);
			return NULL;
		}
	}
	is_loaded = true;
	return &verbs;
}
