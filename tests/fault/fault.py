#!/usr/bin/python3
"""fault.py - one trouble for a whole MPI job: the answers stay right, at most one line is said, nothing is left behind.

  fault.py CASE MPI --launch FILE --door LIB.so --differential FILE --refuse FILE [--seed S]

The job is the differential test (tests/mpi), which checks every result against the MPI's own. A case passes if the job
ends by itself with every result right, if its ranks say at most one line that begins with `collshim:`, and if no file
of ours is left in /dev/shm. Where the MPI itself cannot live with the trouble, that is found by running it without the
library first, and the test is skipped (77) with a sentence.

As root each job has mounts of its own (unshare -m) with its own /dev/shm; the cases that take something away need that.
"""

import argparse
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

IS_ROOT = os.geteuid() == 0
RANK = '${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}'


def fail(text, result=None):
    print("FAILED " + text)
    if result:
        print("--- standard output\n%s--- standard error\n%s" % (result.out[-4000:], result.err[-8000:]))
    sys.exit(1)


def skip(text):
    print("skipped: " + text)
    sys.exit(77)


class Result:
    def __init__(self, code, out, err, left):
        self.code, self.out, self.err, self.left = code, out, err, left

    @property
    def lines(self):
        """What the library said. mpiexec may glue a prefix to a line, never to its middle."""
        return [line for line in self.err.splitlines() if re.search(r"(^|[>\]] ?)collshim: ", line)]

    @property
    def is_right(self):
        return self.code == 0 and re.search(r"^\d+ cases, 0 failed", self.out, re.M) is not None


class Job:
    """How to start one job. `prepare` is shell text run in the job's own mounts before it; `wrap` is shell text that
    every rank runs before the program."""

    def __init__(self, options, shape="1x4", cases=60, variables=(), prepare="", wrap="", preload=True, shm="256M",
                 timeout=90, before=()):
        self.options, self.shape, self.cases, self.variables = options, shape, cases, list(variables)
        self.prepare, self.wrap, self.preload, self.shm, self.timeout = prepare, wrap, preload, shm, timeout
        self.before = list(before)  # words before the program: refuse

    def without_library(self):
        job = Job(self.options)
        job.__dict__.update(self.__dict__)
        job.preload = False
        return job

    def command(self):
        options = self.options
        words = [options.launch, "--mpi", options.mpi, "--shape", self.shape, "--timeout", str(self.timeout)]
        for variable in self.variables + ["COLLSHIM_TEAM_AFTER=1"]:
            words += ["-x", variable]
        if self.preload:
            words += ["--preload", options.door]
        program = self.before + [options.differential, "--cases", str(self.cases), "--seed", str(options.seed),
                                 "--max-bytes", "100000", "--large-bytes", "1000000"]
        if self.preload and not self.wrap:
            program += ["--must-load", "libcollshim"]
        if self.wrap:
            program = ["sh", "-c", self.wrap + '; exec "$@"', "sh"] + program
        return words + ["--"] + program

    def shell(self, report):
        """The command as shell text. In mounts of its own: what is in /dev/shm afterwards goes to the file `report`."""
        text = " ".join(map(shlex.quote, self.command()))
        if not IS_ROOT:
            return text
        mounts = self.prepare or "mount -t tmpfs -o size=%s,mode=1777 tmpfs /dev/shm" % self.shm
        return "%s || exit 99\n%s\ncode=$?\nls -A /dev/shm > %s 2>/dev/null\nexit $code" % (
            mounts, text, shlex.quote(report))

    def start(self, folder):
        self.report = os.path.join(folder, "left")
        self.before_names = shm_names()
        self.out, self.err = (open(os.path.join(folder, name), "w+") for name in ("out", "err"))
        enter = ["unshare", "-m", "--propagation", "private", "sh", "-c"] if IS_ROOT else ["sh", "-c"]
        self.process = subprocess.Popen(enter + [self.shell(self.report)], stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=self.err)
        return self.process

    def finish(self):
        code = self.process.wait()
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        if IS_ROOT:
            try:
                with open(self.report) as file:
                    left = set(file.read().split())
            except OSError:
                left = set()
        else:
            left = shm_names() - self.before_names
        return Result(code, *texts, {name for name in left if "collshim" in name})

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            self.start(folder)
            result = self.finish()
        if result.code == 99:
            skip("the mounts for this case cannot be made here: " + result.err.strip().splitlines()[-1])
        return result


def shm_names():
    try:
        return set(os.listdir("/dev/shm"))
    except OSError:
        return set()


def need_root(what):
    if not IS_ROOT:
        skip(what + " needs root for mounts of its own; the other cases of this room cover the same fallback")


def expect_right(job, least=0, most=1):
    """The job is right, and the library said between `least` and `most` lines."""
    result = job.run()
    if not result.is_right:
        if not job.without_library().run().is_right:
            skip("the MPI itself does not live with this trouble")
        fail("the job with the library is not right (exit code %d)" % result.code, result)
    if not least <= len(result.lines) <= most:
        fail("%d lines were said, expected %d to %d:\n%s" % (
            len(result.lines), least, most, "\n".join(result.lines)), result)
    if result.left:
        fail("left in /dev/shm: %s" % ", ".join(sorted(result.left)), result)
    return result


# --- the cases ----------------------------------------------------------------------------------------------

def shm_full(options):
    """Just enough for the MPI itself."""
    need_root("a small /dev/shm")
    for size in ("64K", "512K", "2M", "6M", "16M", "48M", "128M"):
        job = Job(options, shm=size, cases=25)
        if job.without_library().run().is_right:
            print("the MPI alone needs a /dev/shm of at most %s" % size)
            expect_right(job)
            return
    skip("this MPI needs more than 128M in /dev/shm")


def shm_full_named(options):
    need_root("a small /dev/shm")
    for size in ("64K", "512K", "2M", "6M", "16M", "48M", "128M"):
        job = Job(options, shm=size, cases=25, variables=["COLLSHIM_SHM=named"])
        if job.without_library().run().is_right:
            expect_right(job)
            return
    skip("this MPI needs more than 128M in /dev/shm")


def shm_read_only(options):
    need_root("a read-only /dev/shm")
    expect_right(Job(options, prepare="mount -t tmpfs -o ro tmpfs /dev/shm"))


def shm_absent(options):
    """A /dev with the usual devices and no shm at all."""
    need_root("a /dev without shm")
    prepare = """d=$(mktemp -d) && mount -t tmpfs -o mode=755 tmpfs $d &&
        for f in null zero full random urandom tty ptmx; do [ -e /dev/$f ] && cp -a /dev/$f $d/; done;
        mkdir $d/pts && mount --bind /dev/pts $d/pts; ln -s /proc/self/fd $d/fd;
        ln -s /proc/self/fd/0 $d/stdin; ln -s /proc/self/fd/1 $d/stdout; ln -s /proc/self/fd/2 $d/stderr;
        mount --move $d /dev && rmdir $d; [ ! -e /dev/shm ]"""
    expect_right(Job(options, prepare=prepare))


def memlock(options):
    expect_right(Job(options, wrap="ulimit -l 64"))


def no_cma(options):
    """What the kernel refuses in a container; the library was told that it may."""
    result = expect_right(Job(options, variables=["COLLSHIM_CMA=on"], before=[options.refuse]))
    if "no seccomp" in result.err:
        skip("no seccomp filter")


def budget(options):
    expect_right(Job(options, variables=["COLLSHIM_SHM_BUDGET=64K"], cases=100))


def shm_kind(kind):
    return lambda options: expect_right(Job(options, variables=["COLLSHIM_SHM=" + kind], cases=100),
                                        most=1 if kind == "off" else 0)


def no_proc(options):
    """Every rank in mounts of its own, /proc gone; the launcher keeps its own."""
    need_root("taking /proc away")
    program = 'exec unshare -m --propagation private sh -c \'mount -t tmpfs tmpfs /proc && exec "$@"\' sh "$@"'
    expect_right(Job(options, wrap=program, cases=40))


def one_setting(options):
    expect_right(Job(options, wrap='[ "%s" != 1 ] || export COLLSHIM_BCAST=host' % RANK), least=1)


def one_disabled(options):
    expect_right(Job(options, wrap='[ "%s" != 1 ] || export COLLSHIM_DISABLE=1' % RANK))


def one_version(options):
    """Rank 1 has another version: a copy of the library with another number in it."""
    with tempfile.TemporaryDirectory() as folder:
        other = copy_with_version(options, folder)
        wrap = '[ "%s" != 1 ] || export LD_PRELOAD=$(printf %%s "$LD_PRELOAD" | sed "s|[^: ]*libcollshim.so|%s|")' % (
            RANK, other)
        expect_right(Job(options, wrap=wrap), least=1)


def copy_with_version(options, folder):
    """The same bytes with another last digit in every string that ends with the version."""
    version = options.version.encode()
    other = version[:-1] + (b"9" if version[-1:] != b"9" else b"8")
    os.mkdir(os.path.join(folder, "collshim"))
    beside = os.path.join(os.path.dirname(options.door), "collshim")
    copied = os.path.join(folder, "libcollshim.so")
    pairs = [(options.door, copied)]
    for name in os.listdir(beside):
        if name.endswith(".so"):
            pairs.append((os.path.join(beside, name), os.path.join(folder, "collshim", name)))
    for source, target in pairs:
        with open(source, "rb") as file:
            data = file.read()
        changed, count = re.subn(re.escape(version) + b"\0", other + b"\0", data)
        if count == 0:
            fail("no version string %r in %s" % (version, source))
        with open(target, "wb") as file:
            file.write(changed)
        os.chmod(target, 0o755)
    return copied


def tuning_missing(options):
    expect_right(Job(options, variables=["COLLSHIM_TUNING=/nonexistent/tuning.yaml"]), least=1)


def tuning_wrong(options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "wrong.yaml")
        with open(path, "w") as file:
            file.write("rules:\n  - collective: allgather\n    bytes: [not, a, range\n")
        result = expect_right(Job(options, variables=["COLLSHIM_TUNING=" + path]), least=1)
        if not re.search(r"wrong\.yaml:\d+:\d+", result.err):
            fail("the line does not say file:line:column", result)


def tuning_differs(options):
    """A file that only rank 1 is given."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "own.yaml")
        source = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "etc", "tuning.yaml")
        with open(source) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(re.sub(r"hier:host", "host", text))
        wrap = '[ "%s" != 1 ] || export COLLSHIM_TUNING=%s' % (RANK, path)
        expect_right(Job(options, wrap=wrap), least=1)


def unknown_setting(options):
    expect_right(Job(options, variables=["COLLSHIM_BCASTT=host"]), least=1)


# --- kill -9 --------------------------------------------------------------------------------------------------

def rank_processes(differential):
    """{rank: pid} of this user's processes that run the program under this test (its folder is in their arguments)."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                words = file.read().split(b"\0")
            if not words or os.path.realpath(words[0].decode(errors="replace")) != os.path.realpath(differential):
                continue
            with open("/proc/%s/environ" % name, "rb") as file:
                variables = dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))
        except OSError:
            continue
        if variables.get(b"FAULT_JOB") != b"%d" % os.getpid():
            continue
        for key in (b"PMI_RANK", b"OMPI_COMM_WORLD_RANK"):
            if key in variables:
                found[int(variables[key])] = int(name)
    return found


def kill_one(options, victim, delay, ranks=4):
    os.environ["FAULT_JOB"] = str(os.getpid())
    job = Job(options, shape="1x%d" % ranks, cases=1000000, timeout=60,
              variables=["FAULT_JOB", "COLLSHIM_SHM=" + ("named" if victim % 2 else "auto")])
    with tempfile.TemporaryDirectory() as folder:
        process = job.start(folder)
        until = time.monotonic() + 40
        pids = {}
        while victim not in pids and process.poll() is None and time.monotonic() < until:
            pids = rank_processes(options.differential)
        if victim not in pids:
            process.wait()
            fail("rank %d did not appear" % victim, job.finish())
        time.sleep(delay)
        try:
            os.kill(pids[victim], signal.SIGKILL)
        except ProcessLookupError:
            fail("rank %d was gone before it was killed" % victim, job.finish())
        killed = time.monotonic()
        result = job.finish()
    print("rank %d killed after %.2f s: the job ended with %d after %.1f s more" % (
        victim, delay, result.code, time.monotonic() - killed))
    if result.code == 124:
        fail("the job did not end after rank %d was killed after %.2f s" % (victim, delay), result)
    if result.code == 0:
        fail("a job with a killed rank ended with 0", result)
    if len(result.lines) > 1:
        fail("%d lines were said:\n%s" % (len(result.lines), "\n".join(result.lines)), result)
    if result.left:
        fail("left in /dev/shm: %s" % ", ".join(sorted(result.left)), result)
    if rank_processes(options.differential):
        fail("processes of the job remain", result)


def kill_each(options):
    """Every rank in turn, at an instant between its start and the middle of its calls."""
    rng = random.Random(options.seed)
    for victim in range(4):
        kill_one(options, victim, rng.uniform(0.5, 1.5))


def kill_early(options):
    """While the job still starts and makes its segments."""
    rng = random.Random(options.seed + 1)
    for turn in range(4):
        kill_one(options, rng.randrange(4), rng.uniform(0.0, 0.4))


CASES = {
    "shm_full": shm_full, "shm_full_named": shm_full_named, "shm_read_only": shm_read_only, "shm_absent": shm_absent,
    "memlock": memlock, "no_cma": no_cma, "budget": budget, "shm_named": shm_kind("named"),
    "shm_memfd": shm_kind("memfd"), "shm_off": shm_kind("off"), "no_proc": no_proc, "one_setting": one_setting,
    "one_disabled": one_disabled, "one_version": one_version,
    "tuning_missing": tuning_missing, "tuning_wrong": tuning_wrong, "tuning_differs": tuning_differs,
    "unknown_setting": unknown_setting, "kill_each": kill_each, "kill_early": kill_early,
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("case", choices=sorted(CASES))
    parser.add_argument("mpi", choices=("mpich", "openmpi"))
    for name in ("launch", "door", "differential", "refuse", "version"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if IS_ROOT and not shutil.which("unshare"):
        skip("no unshare (util-linux)")
    print("%s %s seed %d" % (options.case, options.mpi, options.seed))
    CASES[options.case](options)
    print("passed")


main()
