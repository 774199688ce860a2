"""The programs of examples/, and LAMMPS, as scripts/compare runs them."""

import os
import re
import shutil
import subprocess

from collshim.working_copy import TOP

EXAMPLES = os.path.join(TOP, "examples")
PYTHON = "/usr/bin/python3"
LAUNCHERS = {"mpich": "mpich", "openmpi": "openmpi-bin"}  # packages


class Example:
    """One of examples/: all of its output counts but for the line with its time."""

    is_foreign = False
    mpis = ("mpich", "openmpi")

    def missing(self, build):
        """What is in the way of it under every MPI."""
        if self.name.endswith(("_f", "_f08")) and not shutil.which("gfortran"):
            return ["package gfortran is missing"]
        built = [mpi for mpi in self.mpis if self.command(build, mpi)]
        if self.mpis == Example.mpis and not built:
            return ["it was not built"]
        return ["package %s is missing" % LAUNCHERS[mpi] for mpi in built or self.mpis
                if not shutil.which(launcher(mpi, 2)[0])]

    def __init__(self, name, words):
        self.name, self.words = name, words

    def command(self, build, mpi):
        program = os.path.join(build, "examples", self.name + "-" + mpi)
        return [program, *self.words] if os.path.exists(program) else None

    def seconds(self, text, wall):
        match = re.search(r"^time +([0-9.]+) s$", text, re.M)
        return float(match[1]) if match else wall

    def differences(self, one, other, is_preloaded):
        def kept(text):
            return [line for line in text.splitlines() if not line.startswith("time ")]
        return differing_lines(kept(one), kept(other))


class Python(Example):
    mpis = ("openmpi",)  # for which Debian builds mpi4py
    needs = {"mpi4py": "python3-mpi4py", "numpy": "python3-numpy"}

    def command(self, build, mpi):
        if mpi not in self.mpis or self.packages():
            return None
        return [PYTHON, os.path.join(EXAMPLES, self.name), *self.words]

    def packages(self):
        return ["package %s is missing" % package for module, package in self.needs.items()
                if not os.path.exists(PYTHON) or
                subprocess.run([PYTHON, "-c", "import " + module], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL).returncode != 0]

    def missing(self, build):
        return self.packages() + super().missing(build)


class Lammps(Example):
    """The table of energies counts. Its first velocities are scaled by floating-point sums, which
    may be added in another order; so the numbers may differ by a hundred-thousandth of
    themselves."""

    tolerance = 1e-5
    mpis = ("openmpi",)

    def missing(self, build):
        needs = [] if shutil.which("lmp") else [
            "package lammps is missing: scripts/quickstart --lammps installs it"]
        return needs + super().missing(build)

    def command(self, build, mpi):
        program = shutil.which("lmp")
        if mpi not in self.mpis or not program:
            return None
        return [program, "-in", os.path.join(EXAMPLES, "in.melt"), "-log", "none", *self.words]

    def seconds(self, text, wall):
        match = re.search(r"^Loop time of ([0-9.]+)", text, re.M)
        return float(match[1]) if match else wall

    def differences(self, one, other, is_preloaded):
        tables = [self.table(text) for text in (one, other)]
        if not tables[0] or len(tables[0]) != len(tables[1]):
            return ["%d and %d lines of energies" % (len(tables[0]), len(tables[1]))]
        found = []
        for left, right in zip(*tables):
            if len(left) != len(right) or not all(map(self.is_near, left, right)):
                found.append("%s  against  %s" % (left, right))
        return found

    def is_near(self, one, other):
        return abs(one - other) <= self.tolerance * max(abs(one), abs(other))

    @staticmethod
    def table(text):
        match = re.search(r"^ *Step .*\n((?: *[-+0-9.e ]+\n)+)", text, re.M)
        return [[float(word) for word in line.split()]
                for line in match[1].splitlines()] if match else []


PROGRAMS = [
    Example("floyd_warshall", ["-n", "240", "-i", "60"]),
    Example("ft", ["-C", "S", "-i", "30"]),
    Example("fft3d", ["-n", "64", "-i", "30"]),
    Example("matvec", ["-n", "192", "-i", "40000"]),
    Example("matvec_f", ["-n", "192", "-i", "40000"]),
    Example("jacobi_f08", ["-n", "4096", "-i", "60000"]),
    Python("kmeans.py", ["-n", "4000", "-i", "300"]),
    Lammps("lammps", ["-var", "cells", "8", "-var", "steps", "2000"]),
]


class Late(Example):
    """An example whose ranks come late to its collectives, or not: what stands beside it are the
    seed's speed-ups of dynamic leaders over its binomial tree (alltoall: Isend), by processes."""

    def __init__(self, program, words, pattern, seed):
        super().__init__(program, words + (["-I", pattern] if pattern else []))
        self.name = "%s, %s" % (program, pattern or "balanced")
        self.program, self.seed = program, seed

    def command(self, build, mpi):
        program = os.path.join(build, "examples", self.program + "-" + mpi)
        return [program, *self.words] if os.path.exists(program) else None


# Words, iterations balanced and late (in which ranks sleep), and seed 002, tables 3.9 to 3.11,
# where the imbalance is what came about.
LATE_PROGRAMS = (
    ("floyd_warshall", ["-n", "240"], ("60", "8"),
     "table 3.9, bcast: 128 1.08, 256 1.23, 512 1.28, 1024 1.19"),
    ("matvec", ["-n", "192"], ("40000", "2000"),
     "table 3.10, reduce: 256 1.02, 512 1.00, 1024 1.09, 2048 1.12, 4096 1.20, 8192 1.24"),
    ("ft", ["-C", "S"], ("60", "60"),
     "table 3.11, alltoall: A-128 2.11, B-256 1.98, C-512 1.62"),
)


def late_programs(pattern):
    return [Late(program, words + ["-i", iterations[which is not None]], which, seed)
            for program, words, iterations, seed in LATE_PROGRAMS for which in (None, pattern)]


def differing_lines(one, other):
    found = ["%s  against  %s" % pair for pair in zip(one, other) if pair[0] != pair[1]]
    if len(one) != len(other):
        found.append("%d lines against %d" % (len(one), len(other)))
    return found


def launcher(mpi, ranks):
    if mpi == "mpich":
        return ["mpiexec.mpich", "-n", str(ranks)]
    # Its own count of slots may be another than ours (cores, not hardware threads; a cpuset that it
    # sees otherwise).
    words = ["mpirun.openmpi", "-n", str(ranks), "--oversubscribe"]
    if os.geteuid() == 0:
        words += ["--allow-run-as-root"]
    return words
