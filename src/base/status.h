/* base/status.h — the one way in which a function of collshim says that it failed. */
#ifndef CS_BASE_STATUS_H
#define CS_BASE_STATUS_H

enum cs_status {
	CS_OK = 0,
	CS_NO_MEMORY,   /* malloc, or a budget of ours */
	CS_UNSUPPORTED, /* not served here: ask the MPI */
	CS_AGAIN,       /* not yet; call again */
	CS_PEER_LOST,   /* another process of the job went away in mid-flight */
	CS_BAD_INPUT,   /* wrong text of a user: variable, file, argument */
	CS_SYSTEM,      /* a system call failed; errno tells which way */
};

#define CS_CHECKED __attribute__((warn_unused_result))

/* A short English word for a status, never NULL; static storage. */
static inline const char *
cs_status_name(enum cs_status status)
{
	static const char *const names[] = {
		[CS_OK] = "ok", [CS_NO_MEMORY] = "no memory", [CS_UNSUPPORTED] = "unsupported",
		[CS_AGAIN] = "again", [CS_PEER_LOST] = "peer lost", [CS_BAD_INPUT] = "bad input",
		[CS_SYSTEM] = "system error",
	};
	return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

#endif
