"""first_look.py BUILD MINUTES [--ranks N] [-- COMMAND] - the measurements of scripts/quickstart.

Without a command: each collective at three sizes, collshim's time beside the MPI's, under each MPI;
then one program in which collectives matter and one in which they do not, each profiled and
compared (collshim-run). With one: it is profiled, and compared if there is something to gain.
MINUTES: at most, 0 for any time. Each line is printed when it is known."""

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "src", "tools"))
from collshim import machine
from collshim.files import read_json
from collshim.jobs import follow_us
from collshim.texts import bytes_text, read_bytes

SIZES = "8,8K,1M"
NO_VERDICT = 3  # exit code of collshim-run --compare
CASE_SECONDS = 0.1
NAMES = {"mpich": "MPICH", "openmpi": "Open MPI"}
# Program, words: with much time in collectives, and with little.
PROGRAMS = (("collectives matter", "matvec", ["-n", "64", "-i", "1500000"]),
            ("they do not", "cg", ["-n", "640", "-i", "4000"]))


class Stopped(Exception):
    pass


def launcher(mpi, ranks):
    if mpi == "mpich":
        return ["mpiexec.mpich", "-n", str(ranks)]
    # Its own count of slots may be another than ours (cores, not hardware threads; a cpuset).
    words = ["mpirun.openmpi", "-n", str(ranks), "--oversubscribe"]
    return words + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


class Look:
    def __init__(self, args):
        self.args, self.job = args, None
        self.until = time.monotonic() + 60 * args.minutes if args.minutes else None
        self.runner = os.path.join(HERE, "..", "..", "src", "tools", "collshim-run")
        self.path = os.path.join(args.build, "first-look-%d.json" % os.getpid())

    def left(self):
        """Minutes of all that are left, or None."""
        return max(0, self.until - time.monotonic()) / 60 if self.until else None

    def mpis(self):
        return [mpi for mpi in NAMES
                if os.path.exists(os.path.join(self.args.build, "bench", "collshim-bench." + mpi))
                and shutil.which(launcher(mpi, 2)[0])]

    def run(self, words, seconds=None, **how):
        """The exit code; None: ended because it took longer."""
        self.job = subprocess.Popen(words, preexec_fn=follow_us, **how)
        try:
            return self.job.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if self.job.returncode is None:
                self.job.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.job.wait(20)

    def collshim_run(self, kind, command, *options):
        words = [sys.executable, self.runner, kind, "--build", self.args.build, *options,
                 *command]
        print("\n$ collshim-run " + shlex.join([kind, *options, *command]), flush=True)
        return self.run(words)

    def benchmark(self, mpi):
        words = [sys.executable, self.runner, "--build", self.args.build,
                 *launcher(mpi, self.args.ranks),
                 os.path.join(self.args.build, "bench", "collshim-bench." + mpi),
                 "--sizes", SIZES, "--time", str(CASE_SECONDS), "--repeat", "5", "--quiet",
                 "--json", self.path]
        code = "not begun"
        try:
            code = self.run(words, 20 * self.left() if self.until else None,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        finally:
            show_bench(NAMES[mpi], self.args.ranks, read_json(self.path))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
        if code is None:
            print("ended: it took too long")
        elif code:
            print("it failed with exit code %d" % code)
        return code

    def program(self, what, mpi, name, words):
        path = os.path.join(self.args.build, "examples", name + "-" + mpi)
        if not os.path.exists(path):
            print("\nleft out: %s was not built" % path)
            return 1
        print("\n%s, a program in which %s, under %s" % (name, what, NAMES[mpi]), flush=True)
        return self.measure(launcher(mpi, self.args.ranks) + [path] + words, name, 2)

    def measure(self, command, name, parts=1):
        """Profile and compare, in a part of the time that is left. The exit code."""
        limit = self.left() / parts if self.until else None
        options = ["--timeout", "%.0f" % max(5, 30 * limit)] if self.until else []
        code = self.collshim_run("--profile", command, "--report", self.path, *options)
        found = (read_json(self.path) or {}).get("profile")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        if code:
            print("profiling ended with exit code %s; nothing is compared" % code, flush=True)
            return code
        if self.args.command and found and found["most"] < 0.02 * found["run"]:
            return 0
        limit = self.left() / parts if self.until else None
        page = os.path.join(self.args.build, "quickstart-%s.html" % name)
        return self.collshim_run("--compare", command, "--html", page,
                                 *(["--minutes", "%.2f" % max(limit, 0.05)] if limit is not None
                                   else []))


def cell(case):
    ratio = "%.1f" % case["ratio"] if case["ratio"] < 100 else "%.0f" % case["ratio"]
    # No difference, as far as the rounds agree on one.
    mark = "~" if case["ratio_min"] < 1 < case["ratio_max"] else " "
    return "%10.*f %10.*f %6s%s" % (2 if case["ours_us"] < 100 else 0, case["ours_us"],
                                    2 if case["host_us"] < 100 else 0, case["host_us"], ratio, mark)


def show_bench(name, ranks, data):
    cases = (data or {}).get("cases", [])
    print("\n%s, %d ranks: time of a call in us, with collshim and without, and how many times as "
          "fast it is (~: not told from 1)" % (name, ranks))
    sizes = [read_bytes(word) for word in SIZES.split(",")]
    print(" " * 20 + "  ".join(("%s B" % bytes_text(size)).center(28) for size in sizes))
    print(" " * 20 + "  ".join("%10s %10s %7s" % ("collshim", "MPI", "ratio ") for _ in sizes))
    found = {}
    for case in cases:
        if "ours_us" in case:
            found.setdefault(case["collective"], {})[case["size"]] = cell(case)
    for collective, cells in found.items():
        if collective == "barrier":
            cells = {sizes[0]: next(iter(cells.values()))}
        print((collective.ljust(20) + "  ".join(cells.get(size, " " * 28)
                                                for size in sizes)).rstrip())
    if not found:
        print("nothing was measured")
    sys.stdout.flush()


def stop(number, frame):
    raise Stopped(number)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("build")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--ranks", type=int, default=max(2, min(8, machine.core_count())))
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:at])
    args.command = words[at + 1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
    look = Look(args)
    try:
        if args.command:
            return look.measure(args.command, "own")
        mpis = look.mpis()
        if not mpis:
            print("neither mpiexec.mpich nor mpirun.openmpi has a benchmark here")
            return 1
        codes = [look.benchmark(mpi) for mpi in mpis]
        for what, name, arguments in PROGRAMS:
            codes.append(look.program(what, mpis[0], name, arguments))
        return 1 if set(codes) - {0, NO_VERDICT} else 0
    except Stopped as stopped:
        print("stopped; the above is all that was measured", flush=True)
        return 128 + stopped.args[0]


sys.exit(main())
