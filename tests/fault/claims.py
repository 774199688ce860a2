#!/usr/bin/env python3
"""Fault tests: when something is missing, full, refused or killed, the job still gets its results
or ends, in time.

    claims.py CLAIM --library PATH --build DIR --differential DIR --version VERSION
              --info PATH --mpi NAME ...  [--seed NUMBER]

CLAIM is one of the functions below that are marked @claim; PATH is libcollshim.so, with its modules
in collshim/ beside it; --build is the folder with the programs of this directory, --differential
the one with those of tests/mpi; --info is collshim-info; VERSION is the library's. Each job has
four ranks under tests/launch. They run workload.c, whose calls are known, so that it can be asked
which were served; or tests/mpi's differential program, which compares many more kinds of calls with
the MPI's own. After each job: no more lines of collshim than the claim allows, nothing of collshim
in /dev/shm, no process left. A failed claim shows the command and all that it wrote. Exit 0 passed,
1 failed, 77 not run, with one sentence why.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = os.path.join(HERE, "..", "launch")
CLAIMS = {}
# seconds for one job, of a few on a quiet machine; when they are over, launch prints where its
# ranks stand
LIMIT = 200
RANKS = 4
RANK_VARIABLES = ("PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
                  "PALS_RANKID",
                  "ALPS_APP_PE", "SLURM_PROCID")
COLLECTIVES = ("allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast exscan "
               "gather gatherv reduce "
               "reduce_scatter reduce_scatter_block scan scatter scatterv").split()
# Whatever the shipped tuning prefers: here everything is to go through our code that can.
FORCED = {f"COLLSHIM_{name.upper()}": "hier:host" for name in COLLECTIVES}
# By the loopback device: between other ones Open MPI 5 looks for a route, and may find none.
BY_TCP = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
# MPICH (UCX) and Open MPI (vader) put their own messages between ranks into files of /dev/shm and
# end the job when they cannot, or, in Open MPI's case, print half a page. These ways leave /dev/shm
# to us.
HOST_WITHOUT_DEV_SHM = {"mpich": {"UCX_TLS": "self,sysv"}, "openmpi": BY_TCP}
# UCX and vader may not look into each other's processes either: no process_vm_readv, and no links
# into /proc, which posix needs since UCX 1.18.
HOST_WITHOUT_PEEKING = {"mpich": {"UCX_TLS": "self,sysv"},
                        "openmpi": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                                    "OMPI_MCA_smsc": "^cma,knem,xpmem"}}
HOST_BY_TCP = {"mpich": {"UCX_TLS": "self,tcp"}, "openmpi": BY_TCP}
# The beginning of a tuning file; rules follow.
TUNING = ("version: 1\nblocks:\n  - name: test\n"
          "    provenance: {date: 2026-01-01, library: any, machine: any, command: none}\n    "
          "rules:\n")
# In a rank: sets what comes before "--" if this is rank $1 or one that the pattern $1 fits, then
# becomes the program.
ON_RANK = ["sh", "-c", 'ranks=$1; shift; case "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" in $ranks) '
           'while [ "$1" != -- ]; do export "$1"; shift; done;; esac; '
           'while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "on_rank"]
# The differential program's cases are the same in each run: here the trouble is to differ, not the
# calls.
COMPARED = 40
SIZES = ["--seed", "1", "--max-bytes", "100000", "--large-bytes", "1000000"]


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def claim(function):
    CLAIMS[function.__name__] = function
    return function


def indent(text):
    return "\n".join("    " + line for line in text.splitlines())


class Result:
    """A job that has ended: its exit code, what it wrote, what is left of it, and its report if
    there is one."""

    def __init__(self, command, ranks):
        self.command, self.ranks = command, ranks
        self.code = self.report = None
        self.out = self.err = ""

    def lines(self):
        return [line for line in self.err.splitlines() if "collshim:" in line]

    def facts(self):
        return self.report["facts"] if self.report else {}

    def served(self):
        """The collectives with at least one call through our code, as rank 0 counted them."""
        rows = self.report["rows"] if self.report else []
        return sorted({row["collective"] for row in rows if not row["deferred"]
                       and row["calls"] > 0})

    def __str__(self):
        return (f"  command: {' '.join(self.command)}\n  exit code: {self.code}\n"
                f"  stdout:\n{indent(self.out)}\n  stderr:\n{indent(self.err)}\n"
                f"  report: {self.facts()}\n  served: {' '.join(self.served())}")


def expect(condition, what, result=None):
    if not condition:
        raise Failed(what + (f"\n{result}" if result else ""))


# --- jobs -----------------------------------------------------------------------------------------

def environment():
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("COLLSHIM_") and name != "LD_PRELOAD"
            and name not in RANK_VARIABLES}
    kept.update(LC_ALL="C")
    return kept


def processes_of(token, program=None, rank=None):
    """Those of a job; with a program and a rank only that rank once it has become the program."""
    marks, found = {b"FAULT_JOB=" + token.encode()}, []
    ranks = {b"%s=%d" % (name, rank)
             for name in (b"PMI_RANK", b"OMPI_COMM_WORLD_RANK")} if program else set()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():
                with open(f"/proc/{name}/environ", "rb") as file:
                    words = set(file.read().split(b"\0"))
                if marks <= words and (not program or (
                        ranks & words and os.readlink(f"/proc/{name}/exe") ==
                        os.path.realpath(program))):
                    found.append(int(name))
        except OSError:
            pass
    return found


def wait_until(condition, seconds):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def ours_in_dev_shm():
    try:
        return {name for name in os.listdir("/dev/shm") if name.startswith("collshim-")}
    except OSError:
        return set()


def in_namespace(mounts, listing, command):
    """The command in a mount namespace of its own, prepared by `mounts`; then lists what is ours in
    its /dev/shm."""
    script = (f"{mounts} || exit 99\n" '"$@"; code=$?\n' f"ls -A /dev/shm | grep ^collshim- "
                                                         f">'{listing}'\nexit $code")
    return ["unshare", "-m", "sh", "-c", script, "in_namespace", *command]


def can_mount():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                          capture_output=True).returncode == 0


def need_mounts():
    if not can_mount():
        raise Skipped("making a mount namespace needs root; each_system_call_of_ours_may_fail "
                      "covers the same lines")


def read(path):
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")


def kill_from_outside(job, token, program, rank, seconds):
    """kill -9 that long after the rank has become its program; true if it then still ran."""
    found = []
    wait_until(lambda: found.extend(processes_of(token, program, rank)) or found
               or job.poll() is not None, LIMIT)
    time.sleep(seconds)
    try:
        os.kill(found[0], signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True


def job(args, mpi, *words, compare=0, library=True, wrap=(), tools=(), preloads=(), mounts=None,
        until=None, kill=None, host=None, name="workload", ranks=RANKS, **variables):
    """Runs the workload, or the program of that name, with these words under the library, or that
    many cases of the differential program. `library`: False for the MPI alone; `tools` and
    `preloads`: what is preloaded before
    and behind it; `wrap`: what each rank runs it through; `mounts`: shell commands for a mount
    namespace of the job's own; `until`: ends the job by SIGTERM when it holds for stderr's text,
    and a second later still; `kill`: (rank, seconds) for kill_from_outside; `host`: variables per
    MPI without which the MPI itself does not survive the fault."""
    token = uuid.uuid4().hex
    mounts = mounts or (None if until else own_dev_shm())
    before = ours_in_dev_shm()
    program = (f"{args.differential}/differential-{mpi}" if compare else
               f"{args.build}/{name}-{mpi}")
    if compare:
        words = ["--cases", str(compare), *SIZES,
                 *(["--must-load", "libcollshim"] if library else [])]
        variables = {"COLLSHIM_TEAM_AFTER": "1", **variables}
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        report, listing = f"{folder}/report.json", f"{folder}/left"
        variables = {**FORCED, "COLLSHIM_REPORT": report, **(host or {}).get(mpi, {}), **variables}
        command = [LAUNCH, "--mpi", mpi, "--shape", f"1x{ranks}", "--timeout", str(LIMIT),
                   "--machine-shm"]
        for preload in (*tools, *([args.library] if library else []), *preloads):
            command += ["--preload", preload]
        for name, value in variables.items():
            command += ["-x", f"{name}={value}"]
        command += ["--", *wrap, program, *words]
        if mounts:
            command = in_namespace(mounts, listing, command)
        result = Result(command, ranks)
        with open(f"{folder}/out", "wb") as out, open(f"{folder}/err", "wb") as err:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env=dict(environment(), FAULT_JOB=token),
                                       start_new_session=True)
        if until:
            wait_until(lambda: started.poll() is not None or until(read(f"{folder}/err")), LIMIT)
            time.sleep(1)  # time enough for more than one rank to speak
            result.still_ran = started.poll() is None
            if result.still_ran:
                os.killpg(started.pid, signal.SIGTERM)
        if kill:
            result.was_killed = kill_from_outside(started, token, program, *kill)
        try:
            # launch needs up to a minute and a half more to say where the ranks of a hanging job
            # stand.
            result.code = started.wait(LIMIT * float(os.environ.get("LAUNCH_TIMEOUT_FACTOR", "1")) +
                                       120)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            result.code = started.wait()
        result.out, result.err = read(f"{folder}/out"), read(f"{folder}/err")
        if os.path.exists(report):
            result.report = json.loads(read(report))
        expect(result.code != 99 or not mounts, "the mount namespace could not be made", result)
        expect(wait_until(lambda: not processes_of(token), 10),
               f"processes left: {processes_of(token)}", result)
        expect(until or "outlived mpiexec" not in result.err, "ranks outlived their mpiexec",
               result)
        if mounts:
            left = read(listing).split()
        else:  # others on this machine may have segments there, for the moment that one has a name
            left = ours_in_dev_shm() - before
            wait_until(lambda: not left & ours_in_dev_shm(), 5)
            left &= ours_in_dev_shm()
        expect(not left, f"left in /dev/shm: {left}", result)
    return result


def is_right(result):
    right = rf"^workload: ok with {result.ranks} ranks$|^[1-9]\d* cases, 0 failed"
    return result.code == 0 and re.search(right, result.out, re.M) is not None


def expect_right(result, line=None, served=None):
    """Right results; exactly one line with these words, or one for each of several, or none.
    served, for the workload: True all 17 collectives on all communicators of rank 0, "some" on some
    of them, False none, None not asked."""
    expect(is_right(result), "not the right results", result)
    lines, wanted = result.lines(), [] if line is None else [line] if isinstance(line,
                                                                                 str) else line
    expect(len(lines) == len(wanted), f"{len(lines)} lines of collshim, not {len(wanted)}", result)
    for words in wanted:
        expect(any(words in told for told in lines), f"no line says '{words}'", result)
    if served is None:
        return
    expect(result.report is not None, "no report was written", result)
    made, refused = result.facts()["teams made"], result.facts()["teams refused"]
    expect((made > 0) == (served in (True, "some")), f"{made} teams were made", result)
    expect((refused > 0) == (served in (False, "some")), f"{refused} teams were refused", result)
    expect(result.served() == (COLLECTIVES if served else []), "served others than these", result)


# --- shared memory --------------------------------------------------------------------------------

@claim
def each_kind_of_shared_memory_serves_and_off_leaves_all_to_the_host(args):
    for mpi in args.mpi:
        for kind in ("auto", "memfd", "named"):
            expect_right(job(args, mpi, COLLSHIM_SHM=kind), served=True)
            expect_right(job(args, mpi, compare=100, COLLSHIM_SHM=kind))
        result = job(args, mpi, COLLSHIM_SHM="off")
        expect_right(result, served=False)
        expect(any(row["why"] == "shared memory is switched off by COLLSHIM_SHM"
                   for row in result.report["rows"]),
               "no row of the report says why", result)
        expect_right(job(args, mpi, compare=100, COLLSHIM_SHM="off"))


def room_for_some(args, mpi):
    """Bytes for MPI_COMM_WORLD's segment and a half's, which is half as large, but not for the
    duplicate's as well."""
    result = job(args, mpi)
    expect_right(result, served=True)
    return int(result.facts()["shared bytes, peak"] * 1.75 / 2.5) & ~4095


@claim
def full_dev_shm_stops_named_segments_only(args):
    """Named segments: 64K have room for none."""
    need_mounts()
    for mpi in args.mpi:
        for size, kind, line, served in (("64k", "named", "shared memory is full", False),
                                         (room_for_some(args, mpi), "named",
                                          "shared memory is full", "some"),
                                         ("64k", "auto", None, True)):
            expect_right(job(args, mpi, host=HOST_WITHOUT_DEV_SHM, COLLSHIM_SHM=kind,
                             mounts=f"mount -t tmpfs -o size={size} tmpfs /dev/shm"), line=line,
                         served=served)


@claim
def dev_shm_with_just_enough_room_for_the_mpi_is_enough(args):
    """The MPI's own messages go through /dev/shm as ever; what it leaves is too little for named
    segments or not."""
    need_mounts()
    for mpi in args.mpi:
        for size in ("64K", "512K", "2M", "6M", "16M", "48M", "128M"):
            mounts = f"mount -t tmpfs -o size={size},mode=1777 tmpfs /dev/shm"
            alone = job(args, mpi, compare=COMPARED, library=False, mounts=mounts)
            if is_right(alone) and "not enough space" not in alone.err:
                break
        else:
            print(f"# note: left out: {mpi} alone needs more than 128M in /dev/shm")
            continue
        print(f"{mpi} alone needs at most {size} of /dev/shm")
        expect_right(job(args, mpi, compare=COMPARED, mounts=mounts))
        result = job(args, mpi, compare=COMPARED, mounts=mounts, COLLSHIM_SHM="named")
        expect_right(result, line="shared memory is full" if result.lines() else None)


# /dev/shm is there and can only be read.
READ_ONLY = "mount -t tmpfs -o size=64k,ro,mode=555 tmpfs /dev/shm"
# A /dev with the usual devices, and no shm in it.
ABSENT = """d=$(mktemp -d) && mount -t tmpfs -o mode=755 tmpfs $d &&
    for f in null zero full random urandom tty ptmx; do
        [ ! -e /dev/$f ] || cp -a /dev/$f $d/; done &&
    mkdir $d/pts && mount --bind /dev/pts $d/pts && ln -s /proc/self/fd $d/fd &&
    ln -s /proc/self/fd/0 $d/stdin && ln -s /proc/self/fd/1 $d/stdout &&
    ln -s /proc/self/fd/2 $d/stderr &&
    mount --move $d /dev && rmdir $d && [ ! -e /dev/shm ]"""


@claim
def absent_or_read_only_dev_shm_stops_named_segments_only(args):
    need_mounts()
    for mpi in args.mpi:
        for mounts in (READ_ONLY, ABSENT):
            expect_right(job(args, mpi, mounts=mounts, host=HOST_WITHOUT_DEV_SHM,
                             COLLSHIM_SHM="named"),
                         line="no shared memory could be made", served=False)
            expect_right(job(args, mpi, mounts=mounts, host=HOST_WITHOUT_DEV_SHM), served=True)
            # And the MPI as it comes, if it gets along.
            if is_right(job(args, mpi, compare=COMPARED, library=False, mounts=mounts)):
                expect_right(job(args, mpi, compare=COMPARED, mounts=mounts))
            else:
                expect_right(job(args, mpi, compare=COMPARED, mounts=mounts,
                                 host=HOST_WITHOUT_DEV_SHM))


@claim
def memlock_limit_does_not_matter(args):
    for mpi in args.mpi:
        for limit in ("0", "64"):
            wrap = ["sh", "-c", f'ulimit -l {limit} && exec "$@"', "limited"]
            if os.geteuid() == 0:  # else root is above the limit
                wrap += ["setpriv", "--bounding-set=-ipc_lock"]
            for kind in ("auto", "named"):
                expect_right(job(args, mpi, wrap=wrap, COLLSHIM_SHM=kind), served=True)
            expect_right(job(args, mpi, compare=COMPARED, wrap=wrap))


@claim
def file_size_limit_kills_nobody(args):
    """A segment counts as a file, and a file that grows over `ulimit -f` is SIGXFSZ, which ends the
    process."""
    wrap = ["sh", "-c", 'ulimit -f 2048 && exec "$@"', "limited"]
    for mpi in args.mpi:
        for kind in ("auto", "named"):
            expect_right(job(args, mpi, wrap=wrap, host=HOST_WITHOUT_DEV_SHM, COLLSHIM_SHM=kind),
                         line="no shared memory could be made", served=False)


@claim
def spent_budget_leaves_later_communicators_to_the_host(args):
    for mpi in args.mpi:
        expect_right(job(args, mpi, COLLSHIM_SHM_BUDGET="64K"), line="budget", served=False)
        expect_right(job(args, mpi, compare=100, COLLSHIM_SHM_BUDGET="64K"), line="budget")
        room = room_for_some(args, mpi)
        result = job(args, mpi, "dups=8", COLLSHIM_SHM_BUDGET=room)
        expect_right(result, line="budget", served="some")
        peak = result.facts()["shared bytes, peak"]
        expect(0 < peak <= room, f"{peak} shared bytes at the peak, of {room}", result)
        # The differential program makes and frees communicators, so there is room again now and
        # then.
        expect_right(job(args, mpi, compare=100, COLLSHIM_SHM_BUDGET=room), line="budget")


class ControlGroup:
    """A control group with memory of its own, in this process's or else around it. The ranks are
    put into it."""

    def __init__(self):
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split(" - ") for line in file]
        for kind, is_own in (("cgroup", lambda line: "memory" in line[1].split(",")),
                             ("cgroup2", lambda line: line[0] == "0")):
            places = [left.split()[4] for left, right in mounts if right.split()[0] == kind and
                      (kind == "cgroup2" or "memory" in right.split()[-1].split(","))]
            for place in places:
                for path in (line[2] for line in lines if is_own(line)):
                    if self.make(place, path):
                        return
        raise Skipped("no control group with a memory limit can be made here; the unit test of "
                      "headroom covers what is read")

    def make(self, place, path):
        while True:
            self.path = f"{place}{path.rstrip('/')}/collshim-test-{uuid.uuid4().hex}"
            try:
                os.mkdir(self.path)
                for limit, peak in (("memory.limit_in_bytes", "memory.max_usage_in_bytes"),
                                    ("memory.max", "memory.peak")):
                    if (os.path.exists(f"{self.path}/{limit}")
                            and os.path.exists(f"{self.path}/{peak}")):
                        self.limit, self.peak = limit, peak
                        return True
                os.rmdir(self.path)
            except OSError:
                pass
            if path in ("", "/"):
                return False
            path = os.path.dirname(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        def is_gone():
            try:
                os.rmdir(self.path)
            except FileNotFoundError:
                pass
            except OSError:
                return False
            return True
        wait_until(is_gone, 10)

    def restrict(self, size):
        with open(f"{self.path}/{self.limit}", "w") as file:
            file.write(str(size))

    def most_used(self):
        return int(read(f"{self.path}/{self.peak}"))

    def wrap(self):
        return ["sh", "-c", f'echo $$ >"{self.path}/cgroup.procs" && exec "$@"', "in_group"]


@claim
def memory_limit_of_a_control_group_kills_nobody(args):
    """Room for some segments beside the program, and for less than what all its communicators would
    have."""
    for mpi in args.mpi:
        with ControlGroup() as group:
            expect_right(job(args, mpi, "dups=8", wrap=group.wrap(), library=False))
            alone = group.most_used()
        for room, served in ((56 << 20, "some"), (20 << 20, False)):
            with ControlGroup() as group:
                group.restrict(alone + room)
                result = job(args, mpi, "dups=8", wrap=group.wrap())
                expect_right(result, line=f"too little memory left for shared memory "
                                          f"({group.limit})", served=served)
                print(f"{mpi}: {alone >> 20}M alone, a limit of {(alone + room) >> 20}M, "
                      f"{group.most_used() >> 20}M used, "
                      f"{result.facts()['shared bytes, peak'] >> 20}M of it shared")


# --- processes that may not look into each other --------------------------------------------------

@claim
def refused_single_copy_means_two_copies_and_one_line_if_it_was_asked_for(args):
    refuse = [f"{args.build}/refuse.so"]
    for mpi in args.mpi:
        for asked, line in (("on", "COLLSHIM_CMA=on"), ("auto", None)):
            for who in ("*", "2"):
                expect_right(job(args, mpi, preloads=refuse, REFUSE=f"process_vm_readv:{who}:1+:1",
                                 COLLSHIM_CMA=asked),
                             line=line, served=True)
            # Refused by the kernel, to the MPI as well.
            for words in ({}, {"compare": COMPARED}):
                result = job(args, mpi, preloads=refuse, REFUSE_IN_KERNEL="1", COLLSHIM_CMA=asked,
                             **words)
                expect_right(result, line=None if "no seccomp filter" in result.err else line,
                             served=None if words else True)
        expect_right(job(args, mpi, COLLSHIM_CMA="on"), served=True)
        expect_right(job(args, mpi, compare=COMPARED, COLLSHIM_CMA="on"))


# What reads blocks directly; with everything forced to.
READERS = ("allgather allgatherv allreduce alltoall alltoallv alltoallw bcast gather gatherv "
           "reduce_scatter "
           "reduce_scatter_block scatter scatterv").split()
DIRECT = {f"COLLSHIM_{name.upper()}": "hier:host:cma_min=1" for name in READERS}


@claim
def single_copy_refused_in_mid_run_goes_through_shared_memory(args):
    """From some read on, for good, as for a process that stops being dumpable, or one of them
    alone, as for a page that is protected. A team's making takes a few reads, which are not
    refused."""
    for mpi in args.mpi:
        for who, since, error in (("*", "10+", 1), ("*", "10+", 14), ("2", "25+", 1),
                                  ("*", "11", 14), ("13", "30", 3)):
            with tempfile.TemporaryDirectory(prefix="fault-") as folder:
                log = f"{folder}/log"
                refuse = {"REFUSE": f"peers_memory:{who}:{since}:{error}", "REFUSE_LOG": log,
                          **DIRECT}
                preloads = [f"{args.build}/refuse.so"]
                result = job(args, mpi, preloads=preloads, **refuse)
                expect_right(result, served=True)
                expect("refused peers_memory" in read(log), "nothing was refused", result)
                if who == "*":
                    expect(result.facts().get("single copies refused"), "the report does not tell",
                           result)
                expect_right(job(args, mpi, preloads=preloads, compare=COMPARED, **refuse))
                # With lines about calls of one rank per node.
                result = job(args, mpi, preloads=preloads, compare=COMPARED,
                             COLLSHIM_FAKE_NODES="2", **refuse)
                expect(is_right(result), "not the right results", result)


# Each rank is process 1 of a namespace of its own, as in a container; and all have their memory at
# the same addresses.
ALL_OF_ONE_NUMBER = ["unshare", "--pid", "--fork", "--kill-child", "setarch", "-R"]


@claim
def processes_of_the_same_number_do_not_take_each_other_for_themselves(args):
    """Who looks for the memory of process 1 finds its own."""
    if subprocess.run([*ALL_OF_ONE_NUMBER, "true"], capture_output=True).returncode:
        raise Skipped("making a process namespace needs root, and setarch; "
                      "refused_single_copy_means_two_copies_and_one_line_if_it_was_asked_for "
                      "covers the lines behind it")
    line = "COLLSHIM_CMA=on, but the kernel refuses process_vm_readv"
    direct = {f"COLLSHIM_{name}": "hier:host:cma_min=1"
              for name in ("ALLGATHER", "ALLTOALL", "BCAST", "GATHER")}
    for mpi in args.mpi:
        for words in ({"COLLSHIM_CMA": "on"}, {"compare": COMPARED}):
            # UCX takes two such ranks for one, and hangs, in one of some 400 jobs without the
            # library, too; what the claim is about would come each time.
            for _ in range(3):
                result = job(args, mpi, wrap=ALL_OF_ONE_NUMBER, host=HOST_BY_TCP, **words, **direct)
                if mpi == "openmpi" or is_right(result):
                    break
            asked = "COLLSHIM_CMA" in words
            expect_right(result, line=line if asked else None, served=asked or None)


# /proc gone from each rank, in a mount namespace of its own; the launchers keep theirs.
WITHOUT_PROC = ["unshare", "-m", "sh", "-c", 'umount -l /proc && [ ! -e /proc/self ] && exec "$@"',
                "without_proc"]
EMPTY_PROC = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs /proc && [ ! -e /proc/self ] && '
                                           'exec "$@"', "empty_proc"]


def by_name_only(args, mpi, *words, **options):
    """The workload where ranks cannot open each other's files in /proc: auto and named serve by
    name."""
    for kind, line in (("auto", None), ("named", None),
                       ("memfd", "shared memory of another process could not be attached")):
        expect_right(job(args, mpi, *words, host=HOST_WITHOUT_PEEKING, COLLSHIM_SHM=kind,
                         **options),
                     line=line, served=line is None)
    # And what it then says of a full one is that.
    if can_mount():
        expect_right(job(args, mpi, *words,
                         host={mpi: {**HOST_WITHOUT_PEEKING[mpi], **HOST_WITHOUT_DEV_SHM[mpi]}},
                         mounts="mount -t tmpfs -o size=64k tmpfs /dev/shm", **options),
                     line="shared memory is full", served=False)
        expect_right(job(args, mpi, *words,
                         host={mpi: {**HOST_WITHOUT_PEEKING[mpi], **HOST_WITHOUT_DEV_SHM[mpi]}},
                         mounts=READ_ONLY, **options),
                     line="shared memory of another process could not be attached", served=False)


@claim
def processes_that_may_not_be_looked_into_share_by_name(args):
    """No capabilities, PR_SET_DUMPABLE 0: /proc/PID/fd of another rank cannot be opened, nor its
    memory read."""
    for mpi in args.mpi:
        by_name_only(args, mpi, "undumpable")


def finds_nodes_by_files(args, mpi):
    """MPICH 5.0's MPI_Comm_split_type is of no use (comm/host/flavour.c): a rank that may open no
    file is on a node of its own then, and some calls are the MPI's."""
    told = job(args, mpi).facts().get("mpi", "")
    return mpi == "mpich" and re.search(r"\b5\.0\.", told) is not None


@claim
def one_process_that_may_not_open_others_makes_all_share_by_name(args):
    """The module of one rank opens no file at all; that a name opens one is libc's doing."""
    for mpi in args.mpi:
        if finds_nodes_by_files(args, mpi):
            print(f"# note: left out: {mpi}, whose ranks that open no file are alone")
            continue
        for kind, line in (("auto", None), ("named", None), ("memfd", ATTACH)):
            result, refused, _ = refusing(args, mpi, f"open:1:1+:{EACCES}", COLLSHIM_SHM=kind,
                                          COLLSHIM_TUNING="builtin")
            expect(refused > 0, "open was never refused", result)
            expect_right(result, line=line, served="some" if line else True)
        # A maker that cannot open a file without a name makes one with a name.
        result, refused, _ = refusing(args, mpi, f"open:0:1:{EACCES}", COLLSHIM_SHM="named",
                                      COLLSHIM_TUNING="builtin")
        expect_right(result, served=True)
        expect(refused == 1, f"{refused} files were refused", result)


@claim
def without_proc_segments_are_shared_by_name(args):
    """MPICH's UCX does not start without /proc, so there it goes after MPI_Init."""
    need_mounts()
    for mpi in args.mpi:
        if mpi == "openmpi":
            by_name_only(args, mpi, wrap=WITHOUT_PROC)
        else:
            by_name_only(args, mpi, "lose_proc")
        for host in (None, HOST_WITHOUT_PEEKING):
            if is_right(job(args, mpi, compare=COMPARED, library=False, wrap=EMPTY_PROC,
                            host=host)):
                expect_right(job(args, mpi, compare=COMPARED, wrap=EMPTY_PROC, host=host))
            else:
                print(f"# note: left out: {mpi} alone does not live with an empty /proc" +
                      (" and without looking into other processes" if host else ""))


# --- calls that fail ------------------------------------------------------------------------------

def refusing(args, mpi, request, **variables):
    """A job in which calls of collshim's module fail; also how often they did, and the most such
    calls of a rank."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log"
        result = job(args, mpi, preloads=[f"{args.build}/refuse.so"], REFUSE=request,
                     REFUSE_LOG=log, **variables)
        lines = read(log).splitlines() if os.path.exists(log) else []
    refused = sum(line.startswith("refused ") for line in lines)
    return result, refused, max((int(line.split()[2]) for line in lines
                                 if line.startswith("counted ")), default=0)


EINTR, ENOMEM, ENOSPC, EACCES, ENFILE, ENOSYS = 4, 12, 28, 13, 23, 38
FULL, NONE, ATTACH = ("shared memory is full", "no shared memory could be made",
                      "could not be attached")
# Call, rank, which, errno, kind of memory; the line, what rank 0 sees served. MPI_COMM_WORLD and
# its duplicate have their segment from rank 0, the half with rank 0 from rank 2, the other one from
# rank 3. A segment that one of its processes could not attach is made once more, by name.
SYSTEM_CALLS = (
    # then it is a file in /dev/shm, without a name
    ("memfd_create", 0, "1", ENFILE, "auto", None, True),
    ("memfd_create", "*", "1+", ENOSYS, "auto", None, True),
    ("memfd_create", 0, "2", ENFILE, "memfd", NONE, "some"),
    ("ftruncate", 0, "1", ENOSPC, "auto", FULL, "some"),
    ("posix_fallocate", 0, "1", ENOSPC, "auto", FULL, "some"),    # the header
    ("posix_fallocate", 0, "2", ENOSPC, "auto", FULL, "some"),    # its own share
    ("posix_fallocate", 2, "1", ENOSPC, "named", FULL, "some"),   # a rank that only attaches
    # a signal was pending: it is asked again
    ("posix_fallocate", 0, "1", EINTR, "auto", None, True),
    ("posix_fallocate", "*", "2", EINTR, "auto", None, True),
    ("mmap", 0, "1", ENOMEM, "auto", NONE, "some"),
    ("mmap", 3, "2", ENOMEM, "auto", None, True),
    ("mmap", 3, "2", ENOMEM, "memfd", ATTACH, "some"),
    ("mmap", "*", "1+", ENOMEM, "auto", NONE, False),
    ("fstat", 2, "1+", EACCES, "auto", ATTACH, "some"),
    # not a segment yet: where the tuning file may be
    ("open", 1, "1", ENFILE, "auto", None, True),
    # and the tuning file, which only it cannot read
    ("open", 1, "1+", ENFILE, "memfd", ("rank 1 on ", ATTACH), "some"),
    ("getrandom", "*", "1+", ENOSYS, "auto", None, True),
    ("sched_getaffinity", "*", "1+", ENOSYS, "auto", None, True),
)


@claim
def each_system_call_of_ours_may_fail(args):
    for mpi in args.mpi:
        by_files = finds_nodes_by_files(args, mpi)
        for call, rank, which, error, kind, line, served in SYSTEM_CALLS:
            if call == "open" and by_files:
                continue
            result, refused, _ = refusing(args, mpi, f"{call}:{rank}:{which}:{error}",
                                          COLLSHIM_SHM=kind)
            expect(refused > 0, f"{call} was never refused", result)
            expect_right(result, line=line, served=served)


@claim
def pages_that_cannot_be_mapped_at_once_come_one_by_one(args):
    """Slower, right, and the report says so. UCX and Open MPI 6 would call the kernel in the place
    of madvise."""
    for mpi in args.mpi:
        result, refused, _ = refusing(args, mpi, f"madvise:*:1+:{ENOMEM}", UCX_MEM_EVENTS="n",
                                      OMPI_MCA_memory="^patcher")
        expect(refused > 0, "madvise was never refused", result)
        expect_right(result, served=True)
        told = result.facts().get("pages of slots")
        expect(told == f"one by one: {os.strerror(ENOMEM)}", f"the report says {told!r}", result)
        expect("pages of slots" not in refusing(args, mpi, f"madvise:*:0:{ENOMEM}")[0].facts(),
               "the report says so where nothing was refused", result)


@claim
def segment_by_name_that_is_refused_leaves_the_host(args):
    """shm_open is asked only by ranks that may open no file of each other; of them one cannot make
    it or attach it."""
    preloads = [f"{args.build}/refuse.so"]
    for mpi in args.mpi:
        for rank, which, kind in ((0, "1", "auto"), (0, "1", "named"), (1, "2", "auto"),
                                  (1, "2", "named")):
            expect_right(job(args, mpi, "undumpable", preloads=preloads, host=HOST_WITHOUT_PEEKING,
                             COLLSHIM_SHM=kind, REFUSE=f"shm_open:{rank}:{which}:{EACCES}"),
                         line=ATTACH, served="some")


@claim
def one_rank_says_why_a_communicator_without_rank_0_was_refused(args):
    """Ranks 1 and 3 share a communicator in which 3 is first. Each reason is told once, by whoever
    is in it."""
    for mpi in args.mpi:
        result, refused, _ = refusing(args, mpi, f"memfd_create:3:1+:{ENFILE}",
                                      COLLSHIM_SHM="memfd")
        expect(refused > 0, "memfd_create was never refused", result)
        expect_right(result, line=f"{NONE}; this communicator (2 ranks) stays with MPI "
                                  f"[unserved:communicator]", served=True)
        for ranks, served in (("23", "some"), ("*", False)):
            result, refused, _ = refusing(args, mpi, f"memfd_create:{ranks}:1+:{ENFILE}",
                                          COLLSHIM_SHM="memfd")
            expect(refused > 1, f"memfd_create was refused {refused} times", result)
            expect_right(result, line=NONE, served=served)


@claim
def job_without_memory_goes_on_with_the_host_or_ends_with_a_line(args):
    """One allocation of ours fails, any: right results, or a line that says the job ends and a job
    that ends."""
    for mpi in args.mpi:
        for rank in (0, args.random.randrange(1, RANKS)):
            result, _, count = refusing(args, mpi, f"memory:{rank}:0:0")
            expect_right(result, served=True)
            expect(count > 60, f"only {count} allocations on rank {rank}", result)
            # Some read the settings; the last fifty make teams and buffers. How many there are
            # depends on who is late (a class of sizes has its row of the report when a time is
            # first added to it): where a run has less, it is counted from that run's end.
            for back in [args.random.randint(8, count - 1)] + [args.random.randint(8, 50)
                                                               for _ in range(4)]:
                made = count
                for _ in range(5):
                    number = max(made - back, 1)
                    result, refused, made = refusing(args, mpi, f"memory:{rank}:{number}:{ENOMEM}")
                    if refused:
                        break
                expect(refused == 1, f"{refused} allocations were refused", result)
                expect(len(result.lines()) <= 1, f"{len(result.lines())} lines of collshim", result)
                if result.code == 0:
                    expect(f"workload: ok with {RANKS} ranks" in result.out,
                           "not the right results", result)
                else:
                    expect(result.code != 124 and "FAILED" not in result.out
                           and len(result.lines()) == 1 and
                           "ending the job" in result.lines()[0], "neither right results nor a "
                                                                  "clean end", result)


@claim
def failure_between_leaders_ends_the_job_and_a_truncation_is_one(args):
    """MPI_ERR_OTHER of a collective between leaders is a failure, and no truncation unless the MPI
    says so."""
    for mpi in args.mpi:
        broken = {"preloads": [f"{args.build}/broken_wire-{mpi}.so"], "COLLSHIM_FAKE_NODES": "2"}
        result = job(args, mpi, BROKEN_WIRE="failure", **broken)
        expect(result.code not in (0, 124) and "FAILED" not in result.out,
               "the job did not end by itself", result)
        expect(any("MPI_Reduce between the leaders of the nodes failed" in line
                   and "ending the job" in line
                   for line in result.lines()), "no line says what failed", result)
        # mpirun 4.1.4 now and then dies of the ranks' messages when handlers are fatal ("past end
        # of buffer in ... show_help.c"). MPICH's, without us too, loses what a rank says last in
        # one of some forty jobs, on a busy machine in more: twice at most in a row.
        for way in ("truncation", "status"):
            lost = 0
            for _ in range(10):
                result = job(args, mpi, BROKEN_WIRE=way, **broken)
                is_silent = not re.search("trunc|ending the job", result.err, re.I)
                lost += is_silent
                if "show_help.c" not in result.err and (not is_silent or lost > 2):
                    break
            expect(result.code not in (0, 124) and "ending the job" not in result.err and
                   re.search("trunc", result.err, re.I), "the program's handler did not get a "
                                                         "truncation", result)


@claim
def lanes_that_the_mpi_refuses_on_one_rank_leave_four_and_one_line(args):
    for mpi in args.mpi:
        result = job(args, mpi, preloads=[f"{args.build}/broken_wire-{mpi}.so"], ranks=10,
                     BROKEN_WIRE="lanes", COLLSHIM_FAKE_NODES="2", COLLSHIM_TEAM_AFTER="1",
                     COLLSHIM_ALLREDUCE="hier:host:lanes=5")
        line = "; this communicator (10 ranks) stays with 4 lanes"
        expect(is_right(result) and sum(line in told for told in result.lines()) == 1,
               "not the right results, or not one line", result)
        expect(result.facts()["teams refused"] == 0, "a team was refused", result)


# --- ranks that differ ----------------------------------------------------------------------------

def on_rank(rank, *assignments):
    return [*ON_RANK, str(rank), *assignments, "--"]


@claim
def one_rank_with_another_setting_means_the_host_for_all(args):
    with tempfile.TemporaryDirectory() as folder:
        tuning = f"{folder}/tuning.yaml"
        with open(tuning, "w") as file:
            file.write(TUNING + "      - {collective: bcast, bytes: 0-4K, use: host}\n")
        for mpi in args.mpi:
            for rank, setting, line in ((1, "COLLSHIM_BCAST=host", "settings"),
                                        (0, "COLLSHIM_SHM=named", "settings"),
                                        (3, f"COLLSHIM_TUNING={tuning}", "tuning"),
                                        (1, "COLLSHIM_DISABLE=1", "COLLSHIM_DISABLE"),
                                        (0, "COLLSHIM_DISABLE=1", "COLLSHIM_DISABLE")):
                result = job(args, mpi, wrap=on_rank(rank, setting))
                expect_right(result, line=line)
                expect(not result.served(), "calls were served", result)
                expect_right(job(args, mpi, compare=COMPARED, wrap=on_rank(rank, setting)),
                             line=line)
            # And what may differ: who reports.
            expect_right(job(args, mpi, wrap=on_rank(1, "COLLSHIM_REPORT=")), served=True)


@claim
def ranks_that_differ_go_on_where_mpi_init_is_not_seen(args):
    """A tool before the library calls PMPI_Init. Each communicator agrees for itself, the disabled
    processes' with them; that of ranks 0 and 2 has a team where rank 1 alone is another."""
    tools = [f"{args.build}/past_init.so"]
    for mpi in args.mpi:
        expect_right(job(args, mpi, tools=tools), served=True)
        expect_right(job(args, mpi, compare=COMPARED, tools=tools))
        for setting in ("COLLSHIM_DISABLE=1", "COLLSHIM_BCAST=host"):
            for rank, served in ((1, "some"), (0, None)):
                result = job(args, mpi, tools=tools, wrap=on_rank(rank, setting))
                expect_right(result, line="the ranks differ in version, settings or tuning",
                             served=served)
        result = job(args, mpi, tools=tools, COLLSHIM_DISABLE="1")
        expect_right(result)
        expect(result.report and not result.report["rows"]
               and "COLLSHIM_DISABLE" in result.report.get("uncounted", ""),
               "the report does not say that nothing was counted", result)


def other_version(args, folder):
    """A copy of library and modules that says another version: the same bytes but for that text."""
    old = args.version.encode() + b"\0"
    new = b"x" + old[1:]
    source = os.path.dirname(args.library)
    os.mkdir(f"{folder}/collshim")
    for name in [os.path.basename(args.library)] + [f"collshim/collshim-{mpi}.so"
                                                    for mpi in args.mpi]:
        with open(f"{source}/{name}", "rb") as file:
            code = file.read()
        expect(code.count(old) > 0, f"{name} does not contain its version {args.version}")
        with open(f"{folder}/{name}", "wb") as file:
            file.write(code.replace(old, new))
    return f"{folder}/{os.path.basename(args.library)}"


@claim
def one_rank_with_another_version_means_the_host_for_all(args):
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        other = other_version(args, folder)
        # launch puts the library last in LD_PRELOAD.
        script = ('case "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" in $0) '
                  'LD_PRELOAD="${LD_PRELOAD%"${LD_PRELOAD##*:}"}$1";; esac; shift; exec "$@"')
        for mpi in args.mpi:
            # All ranks with the other one: it is a library that works, only not the same.
            expect_right(job(args, mpi, wrap=["sh", "-c", script, "[0-9]", other]), served=True)
            for rank in (0, 2):
                result = job(args, mpi, wrap=["sh", "-c", script, str(rank), other])
                expect_right(result, line="version")
                expect(not result.served(), "calls were served", result)
                expect_right(job(args, mpi, compare=COMPARED,
                                 wrap=["sh", "-c", script, str(rank), other]), line="version")


DIFFER = "the ranks differ in whether collshim could be started; every call of this job goes to MPI"
NO_REPORT, UNSERVED = ", and there will be no report", "[unserved:job]"


@claim
def one_rank_without_a_usable_module_means_the_host_for_all(args):
    """The module is not there, is no module or is of another version, on some ranks or on all: who
    has none says why, one process for the node, and all go on with the MPI."""
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        os.mkdir(f"{folder}/other")
        other_version(args, f"{folder}/other")
        os.mkdir(f"{folder}/none")
        for mpi in args.mpi:
            with open(f"{folder}/none/collshim-{mpi}.so", "w") as file:
                file.write("none\n")
        for mpi in args.mpi:
            for ranks, modules, told in (
                    ("0", "/nosuch", (f"collshim: /nosuch/collshim-{mpi}.so: ", DIFFER)),
                    ("1", "/nosuch", (f": /nosuch/collshim-{mpi}.so: ", DIFFER)),
                    ("[13]", f"{folder}/none", (f"/none/collshim-{mpi}.so: ", DIFFER)),
                    ("[03]", f"{folder}/other/collshim",
                     (f"/other/collshim/collshim-{mpi}.so is version x", DIFFER)),
                    ("2", f"{folder}/other/collshim",
                     (f"/other/collshim/collshim-{mpi}.so is version x", DIFFER)),
                    ("[0-9]", "/nosuch", (f"collshim: /nosuch/collshim-{mpi}.so: ",))):
                wrap = on_rank(ranks, f"COLLSHIM_MODULE_DIR={modules}")
                result = job(args, mpi, wrap=wrap)
                expect_right(result, line=told)
                expect(result.report is None
                       and sum(NO_REPORT in line for line in result.lines()) >= 1,
                       "there is a report, or no line says that there is none", result)
                expect(all(UNSERVED in line for line in result.lines()), "not by its word", result)
                if ranks == "1":
                    expect(any("rank 1 on " in line for line in result.lines()),
                           "the line does not say on which rank", result)
                    expect_right(job(args, mpi, compare=COMPARED, wrap=wrap), line=told)


@claim
def ranks_that_wait_for_one_without_the_library_say_so(args):
    """Such a job waits in MPI_Init, with COLLSHIM_INIT_TIMEOUT=0 for ever. The test ends it. The
    lowest rank that has the library speaks."""
    def wait(mpi, without):
        result = job(args, mpi, wrap=on_rank(without, "LD_PRELOAD="),
                     until=lambda text: "collshim:" in text, COLLSHIM_INIT_TIMEOUT="0")
        expect(result.still_ran and len(result.lines()) == 1 and "LD_PRELOAD" in result.lines()[0],
               "not one line that says LD_PRELOAD", result)
        expect("workload: ok" not in result.out, "it went on, so what was the line for?", result)

    jobs = [(mpi, without) for without in ("2", "0", "[01]", "[02]") for mpi in args.mpi]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they only wait
        for done in [pool.submit(wait, *job) for job in jobs]:
            done.result()


@claim
def job_of_which_a_rank_has_no_library_ends_by_itself_and_names_it(args):
    """Whichever it is; also where who waits has no module."""
    def wait(mpi, without, modules, named):
        variables = {"COLLSHIM_MODULE_DIR": modules} if modules else {}
        result = job(args, mpi, wrap=on_rank(without, "LD_PRELOAD="), COLLSHIM_INIT_TIMEOUT="1",
                     **variables)
        # What a module that is missing has to say is said as well.
        lines = [line for line in result.lines() if "ending the job" in line]
        # The other rank that waits for it may say so, too, before the launcher has ended that one.
        expect(result.code not in (0, 124) and 1 <= len(lines) <= 2,
               "it did not end with a line that says so", result)
        for line in lines:
            expect(re.search(rf"for rank {named} \(process [0-9]+ on \S+\)", line),
                   f"it does not name rank {named}", result)
        expect("workload: ok" not in result.out, "it went on", result)

    jobs = [(mpi, *case) for mpi in args.mpi
            for case in (("0", None, "0"), ("1", None, "1"), ("2", None, "2"),
                                                          ("3", None, "3"), ("[02]", None, "[02]"),
                                                          ("2", "/nosuch", "2"))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(wait, *job) for job in jobs]:
            done.result()


# --- what users write -----------------------------------------------------------------------------

@claim
def wrong_settings_and_tuning_files_give_one_line_and_are_ignored(args):
    with tempfile.TemporaryDirectory() as folder:
        broken, wrong, missing = (f"{folder}/broken.yaml", f"{folder}/wrong.yaml",
                                  f"{folder}/missing.yaml")
        with open(broken, "w") as file:
            file.write("version: 1\nblocks: [ {name: test\n")
        with open(wrong, "w") as file:
            file.write(TUNING + "      - {collective: bcats, use: host}\n      - "
                                "{collective: bcast, use: nonsense}\n")
        for mpi in args.mpi:
            for name, value, line in (("COLLSHIM_TUNING", missing, "missing.yaml"),
                                      ("COLLSHIM_TUNING", broken, "broken.yaml:"),
                                      ("COLLSHIM_TUNING", wrong, "wrong.yaml:6:"),
                                      ("COLLSHIM_TUNING", folder, "the built-in rules"),
                                      ("COLLSHIM_BCAST", "hier:hots", "COLLSHIM_BCAST=hier:hots"),
                                      ("COLLSHIM_SHM", "sometimes", "COLLSHIM_SHM=sometimes"),
                                      ("COLLSHIM_BCATS", "host", "COLLSHIM_BCATS"),
                                      ("COLLSHIM_FAKE_NODES", "3,0", "COLLSHIM_FAKE_NODES=3,0"),
                                      ("COLLSHIM_FAKE_NODES", "7", "COLLSHIM_FAKE_NODES=7 takes 7 "
                                                                   "ranks or more")):
                result = job(args, mpi, **{name: value})
                expect_right(result, line=line)
                expect(not line.endswith(":") or re.search(r"\.yaml:\d+:\d+: ", result.lines()[0]),
                       "the line does not say FILE:LINE:COLUMN", result)
                expect_right(job(args, mpi, compare=COMPARED, **{name: value}), line=line)
                # What the tuning says of a bcast that nobody forces is not this test's business.
                missed = set(COLLECTIVES) - set(result.served()) - {"bcast"}
                expect(result.facts()["teams refused"] == 0 and not missed, f"not served: {missed}",
                       result)


@claim
def trouble_of_some_ranks_is_told_by_one_of_them(args):
    """By one process of a node, with its rank, if rank 0 has not told just the same."""
    with tempfile.TemporaryDirectory() as folder:
        good, missing = f"{folder}/good.yaml", f"{folder}/missing.yaml"
        with open(good, "w") as file:
            file.write(TUNING + "      - {collective: bcast, bytes: 0-4K, use: host}\n")
        lost = f": select: {missing}: "
        for mpi in args.mpi:
            for ranks, setting, told, variables in (
                    ("0", "COLLSHIM_CMA=foo", ("collshim: settings: COLLSHIM_CMA=foo",), {}),
                    ("1", "COLLSHIM_CMA=foo", ("rank 1 on ", ": settings: COLLSHIM_CMA=foo"), {}),
                    ("[23]", "COLLSHIM_CMA=foo", (": settings: COLLSHIM_CMA=foo",), {}),
                    ("1", f"COLLSHIM_TUNING={missing}", ("rank 1 on ", lost),
                     {"COLLSHIM_TUNING": "builtin"}),
                    ("1", f"COLLSHIM_TUNING={missing}", ("tuning file", lost),
                     {"COLLSHIM_TUNING": good})):
                result = job(args, mpi, wrap=on_rank(ranks, setting), **variables)
                # "rank 1 on " and the rest are one line; that the ranks differ is another one.
                expect_right(result, line=told if "rank 1 on " not in told else told[1:])
                expect(all(words in result.err for words in told), f"not told: {told}", result)
                expect(bool(result.served()) == ("tuning file" not in told), "served, or not",
                       result)


# --- what the report says -------------------------------------------------------------------------

def measured(result):
    """Calls and bytes by collective and size, whoever served them."""
    found = {}
    for row in result.report["rows"]:
        key = row["collective"], row["bin_low"], row["bin_high"]
        calls, size = found.get(key, (0, 0))
        found[key] = calls + row["calls"], None if row["bytes"] is None else size + row["bytes"]
    return found


@claim
def report_counts_calls_and_bytes_alike_whoever_serves_them(args):
    """Served by the library, left to the MPI by a choice, and without a team: the program's calls
    have the same sizes."""
    for mpi in args.mpi:
        ours = job(args, mpi, COLLSHIM_TEAM_AFTER="3")
        expect_right(ours, served=True)
        early = sum(row["calls"] for row in ours.report["rows"]
                    if row["why"] == "team not made yet")
        expect(early == 2 * (ours.facts()["teams made"] - 1), f"{early} calls before teams, of "
                                                              f"which MPI_COMM_WORLD has none",
                                                              ours)
        for left in ({f"COLLSHIM_{name.upper()}": "host" for name in COLLECTIVES},
                     {"COLLSHIM_SHM": "off"}):
            hosts = job(args, mpi, **left)
            expect(is_right(hosts) and not hosts.served(), "not the right results, or calls were "
                                                           "served", hosts)
            expect(measured(hosts) == measured(ours),
                   f"sizes differ:\n{measured(ours)}\n{measured(hosts)}", hosts)
        for (name, low, high), (_, size) in measured(ours).items():
            unknown = name in ("alltoallv", "alltoallw", "gatherv", "scatterv")
            expect([low, high, size].count(None) == (3 if unknown else 0),
                   f"{name}: {low}-{high}, {size} bytes", ours)


@claim
def report_of_a_disabled_library_says_so(args):
    for mpi in args.mpi:
        result = job(args, mpi, COLLSHIM_DISABLE="1")
        expect_right(result)
        expect(result.report and not result.report["rows"]
               and "COLLSHIM_DISABLE" in result.report.get("uncounted", ""),
               "the report does not say that it was disabled", result)
        result = job(args, mpi, COLLSHIM_DISABLE="1", COLLSHIM_REPORT="1")
        expect(is_right(result) and "disabled by COLLSHIM_DISABLE; calls were not "
                                    "counted" in result.err and
               "no collective was called" not in result.err, "the report does not say that it was "
                                                             "disabled", result)


# --- a rank that stays away -----------------------------------------------------------------------

@claim
def rank_that_never_comes_keeps_the_root_of_a_reduce_and_nobody_else(args):
    """On one node and on two; the job is ended from outside then, and nothing is left."""
    def are_over(text):
        return all(f"rank {rank} is over" in text for rank in range(1, RANKS - 1))
    for mpi in args.mpi:
        for nodes in ({}, {"COLLSHIM_FAKE_NODES": "2"}):
            result = job(args, mpi, name="absent", until=are_over, COLLSHIM_TEAM_AFTER="0",
                         **nodes, COLLSHIM_REDUCE="hier:dynamic")
            expect(are_over(result.err), "somebody else waits, too", result)
            expect("rank 0 is over" not in result.err and
                   f"rank {RANKS - 1} is over" not in result.err, "the root does not wait", result)
            expect(result.still_ran, "the job ended by itself", result)


def ranks_of(text):
    """{0, 1, 2, 7} of "ranks 0-2,7"."""
    found = set()
    for part in re.match(r"ranks? ([-0-9,]+)", text)[1].split(","):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


def reports(text):
    """[(headline, {state: ranks})] of lines as collshim writes them, without its name."""
    found = []
    for line in text:
        if line.startswith("stalled for "):
            found.append((line, {}))
        elif line.startswith("  "):
            state, _, ranks = line.strip().partition(": ")
            found[-1][1].setdefault(state, set()).update(ranks_of(ranks))
    return found


def stalled(args, mpi, how, headline, count, **variables):
    """The reports of a job that hangs, each once, with that headline."""
    def are_there(text):
        return len(re.findall(headline, text)) >= count
    result = job(args, mpi, how, name="stall", until=are_there, COLLSHIM_TEAM_AFTER="0",
                 COLLSHIM_STALL="0.1s", **variables)
    found = reports([line.partition("collshim: ")[2] for line in result.lines()])
    expect(result.still_ran and len(found) == count, f"{len(found)} reports, not {count}", result)
    expect(all(re.search(headline, line) for line, _ in found), "it is another call", result)
    return result, [states for _, states in found]


SUM = r"stalled for [0-9.]+ s: MPI_{} on MPI_COMM_WORLD \(4 ranks\), call [0-9]+, " \
      r"at stall-[a-z]+\+0x[0-9a-f]+, 32 bytes, MPI_DOUBLE, MPI_SUM, on \S+"


@claim
def call_that_hangs_is_reported_by_one_rank_of_each_node(args):
    """Whatever the ranks that are there do by then: the one that never comes is named."""
    for mpi in args.mpi:
        for how, name in (("absent", "Allreduce"), ("wait", "Iallreduce")):
            result, (states,) = stalled(args, mpi, how, SUM.format(name), 1)
            expect(3 in states["not there"] and states["waiting in it"] and
                   set.union(*states.values()) == {0, 1, 2, 3}, "ranks are missing", result)
        result, found = stalled(args, mpi, "absent", SUM.format("Allreduce"), 2,
                                COLLSHIM_FAKE_NODES="2")
        first, second = sorted(found, key=lambda states: "not there" in states)
        expect(second == {"waiting in it": {2}, "not there": {3}}, "not rank 3", result)
        expect(set.union(*first.values()) == {0, 1}, "the other node", result)
        stalled(args, mpi, "first", r"a first collective on MPI_COMM_WORLD", 1)
        for nodes in ({}, {"COLLSHIM_FAKE_NODES": "2"}):
            result = job(args, mpi, "root", name="stall", COLLSHIM_TEAM_AFTER="0", **nodes)
            expect(result.code not in (0, 124) and
                   any(re.search(r"rank \d is in MPI_Bcast with root \d, rank \d in MPI_Bcast "
                                 r"with root \d", line) for line in result.lines()),
                   "another root is not told at once", result)


@claim
def process_that_hangs_says_so_when_it_is_asked(args):
    """By its number, and by the number or the name of its job; and which others are elsewhere."""
    said = {}

    def ask(what, name):
        result = run_info(args, name)
        said[what] = result.stdout
        return result.returncode, reports(result.stdout.splitlines())

    for mpi in args.mpi:
        name = f"job-{uuid.uuid4().hex}"

        def have_answered(_):
            code, found = ask("job", name)
            calls = {re.search(r"MPI_\w+", line)[0]: states for line, states in found}
            if code or calls.keys() != {"MPI_Allreduce", "MPI_Barrier"}:
                return False
            there, elsewhere = calls["MPI_Allreduce"], calls["MPI_Barrier"]
            if there != {"waiting in it": {0, 1, 2}, "in another call": {3}} or \
                    elsewhere != {"waiting in it": {3}, "in another call": {0, 1, 2}}:
                return False
            process = re.search(r"rank 3 \(process (\d+)\): MPI_Barrier on the other one "
                                r"\(4 ranks\), call 4, for ", said["job"])
            # Who answers knows its own place.
            expect(all(re.search(r", call 4, at \S+\+0x", line) for line, _ in found),
                   f"no place of the call: {said}")
            code, found = ask("process", process[1])
            return code == 0 and [states for _, states in found] == [elsewhere]

        result = job(args, mpi, "elsewhere", name="stall", until=have_answered,
                     COLLSHIM_TEAM_AFTER="0", PJM_JOBID=name)
        expect(result.still_ran and "process" in said, f"no such answers: {said}", result)
    expect(ask("nobody", name) == (3, []), f"of a job that is over: {said}")
    with subprocess.Popen(["sleep", "600"]) as idle:
        expect(ask("idle", str(idle.pid))[0] == 3 and
               said["idle"] == f"process {idle.pid} waits in no call of collshim (or has no "
                               "collshim)\n", f"of another program: {said}")
        idle.kill()


def run_info(args, name):
    return subprocess.run([args.info, "--stuck", name], capture_output=True, text=True,
                          env=environment())


# --- kill -9 --------------------------------------------------------------------------------------

def expect_killed(result):
    """That nothing is left, of files and processes, job() has seen."""
    expect(result.code not in (0, 124) and not is_right(result) and "FAILED" not in result.out +
           result.err,
           "the job did not end by the kill", result)
    expect(not result.lines(), "a line of collshim, which has nothing to say here", result)


@functools.cache
def own_dev_shm():
    """Of no job but this: others fill the machine's, or have segments there for a moment."""
    return "mount -t tmpfs -o mode=1777 tmpfs /dev/shm" if can_mount() else None


@claim
def killed_rank_ends_the_job_and_leaves_nothing(args):
    """Each rank in turn, at a random instant: while teams are being made, and in collectives of
    those that are made."""
    private = own_dev_shm()
    for mpi in args.mpi:
        for rank in range(RANKS):
            for kind in ("named", "memfd"):
                for when, most in (("die_early", 50000), ("die", 100000)):
                    instant = args.random.randint(0, most)
                    expect_killed(job(args, mpi, "rounds=1000000", f"{when}={rank}:{instant}",
                                      mounts=private, COLLSHIM_SHM=kind))


@claim
def rank_killed_with_calls_under_way_ends_the_job_and_leaves_nothing(args):
    """Non-blocking and persistent ones, with a progress thread and, where the MPI can do without,
    with none."""
    for mpi in args.mpi:
        for progress in ("thread", "calls") if mpi == "openmpi" else ("thread",):
            more = {"COLLSHIM_PROGRESS": progress, "COLLSHIM_TEAM_AFTER": "1"}
            whole = job(args, mpi, "begun", **more)
            expect(is_right(whole), "not the right results", whole)
            expect({"iallreduce", "ialltoall", "ibarrier", "allreduce_init"} <=
                   set(whole.served()), "calls were not served", whole)
            for rank in range(RANKS):
                for when, most in (("die_early", 50000), ("die", 100000)):
                    kind = args.random.choice(("named", "memfd"))
                    expect_killed(job(args, mpi, "begun", "rounds=1000000",
                                      f"{when}={rank}:{args.random.randint(0, most)}",
                                      COLLSHIM_SHM=kind, **more))


@claim
def rank_killed_from_outside_ends_the_job_and_leaves_nothing(args):
    """From the first instant of the program on, before MPI_Init has returned, and in the midst of
    all kinds of calls."""
    private = own_dev_shm()
    for mpi in args.mpi:
        for rank in range(RANKS):
            for earliest, latest in ((0, 0.4), (0.5, 1.5)):
                kind = args.random.choice(("named", "auto"))
                result = job(args, mpi, compare=1000000, mounts=private,
                             kill=(rank, args.random.uniform(earliest, latest)), COLLSHIM_SHM=kind)
                expect(result.was_killed, f"rank {rank} could not be killed", result)
                expect_killed(result)


@claim
def rank_killed_at_any_call_that_makes_a_segment_leaves_no_file(args):
    """Killed on entry to the call, so what comes before it has been done: the maker's file is there
    and has no name. Where processes cannot open each other's files it has one until all of them
    have opened it, and no longer."""
    private, preloads = own_dev_shm(), [f"{args.build}/refuse.so"]
    nameless = ("ftruncate:0:1", "posix_fallocate:0:1", "mmap:0:1", "posix_fallocate:0:2",
                "fstat:1:1", "mmap:2:1",
                "posix_fallocate:3:1", "posix_fallocate:1:2")
    # Its own share of the second one; the first is that without a name, of which all pieces of its
    # share, and the words of who comes when, are committed if it is a file in /dev/shm.
    by_name = {"named": ("posix_fallocate:0:7",), "auto": ("posix_fallocate:0:4",)}
    for mpi in args.mpi:
        for calls, kinds, words, host in ((nameless, ("named", "auto"), (), None),
                                          (by_name["named"], ("named",), ("undumpable",),
                                           HOST_WITHOUT_PEEKING),
                                          (by_name["auto"], ("auto",), ("undumpable",),
                                           HOST_WITHOUT_PEEKING)):
            for call in calls:
                for kind in kinds:
                    expect_killed(job(args, mpi, *words, preloads=preloads, mounts=private,
                                      host=host, COLLSHIM_SHM=kind, REFUSE=f"{call}:-9"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claim", choices=sorted(CLAIMS))
    parser.add_argument("--library", required=True, type=os.path.abspath)
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--differential", required=True, type=os.path.abspath)
    parser.add_argument("--info", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--mpi", nargs="+", required=True)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    args.random = random.Random(seed)
    try:
        CLAIMS[args.claim](args)
    except Skipped as reason:
        print(f"skipped: {reason}")
        return 77
    except Failed as failure:
        again = "" if args.seed is not None else f" --seed {seed}"
        print(f"FAILED  {args.claim}\n{failure}\nreplay: {' '.join(sys.argv)}{again}")
        return 1
    print(f"seed {seed}")
    return 0


if __name__ == "__main__":  # tests/verbs/failures takes parts of this
    sys.exit(main())
