"""Shapes of jobs: what a launcher's command line starts."""

import re

from collshim.failure import Failure
from collshim.said import our_lines, unserved
from collshim.tuner.jobs import run_job
from collshim.tuner.tools import PROBE_PLACEMENT

AGREED_CALLS = 64    # by then imbalance has been agreed on (src/algorithms/epoch.h)


def is_cyclic(shape):
    return shape["placement"] == "cyclic"


def explained(info, shape, call, *more):
    """What the library says of a call at that shape."""
    placement = ["--cyclic"] if is_cyclic(shape) else []
    return info.explain(call, "--ranks", str(shape["ranks"]), "--nodes", str(shape["nodes"]),
                        *placement, *more)


def order_benches(benches, mpirun):
    """Those whose MPI the command names first."""
    return sorted(benches, key=lambda path: flavour_of(path) not in mpirun)


def flavour_of(bench, mpi=""):
    """As in a block's guard."""
    ending = bench.rpartition(".")[2]
    return ending if ending in ("mpich", "openmpi") else "openmpi" if "Open MPI" in mpi else "mpich"


def warnings_of(where, said):
    """collshim's lines. Where nothing was served the host was measured against itself, whatever was
    asked for."""
    if unserved(said):
        raise Failure(1, "%s: the library serves nothing there: %s" % (where, unserved(said)))
    return our_lines(said)


def learn_shape(tools, mpirun, out, seconds):
    """What a first job says of the ranks, and which bench it takes: under another MPI's launcher
    each process is a job of one rank."""
    done = None
    for bench in order_benches(tools.benches, mpirun):
        program = [bench, "-c", "barrier", "-t", "0.001", "--repeat", "1"]
        done = run_job(tools, mpirun, {}, program, out, seconds)
        result = done.result
        if done.code == 0 and result and result.get("complete") and result["ranks"] > 1:
            if not result.get("library"):
                raise Failure(1, "%s: LD_PRELOAD does not reach the ranks" % mpirun)
            warnings_of(mpirun, done.said)
            shape = {name: result[name] for name in ("ranks", "nodes", "ppn_min", "ppn_max", "mpi")}
            return dict(shape, placement=placement_of(tools, result), mpirun=mpirun, bench=bench,
                        flavour=flavour_of(bench, shape["mpi"]), startup=done.seconds)
    if done.code == 0 and done.result:
        raise Failure(2, "%s starts one rank: nothing to measure" % mpirun)
    raise Failure(1, "the first job of \"%s\" failed: %s" % (mpirun, done.words()))


def learn_pattern(tools, shape, pattern, out, seconds):
    """The class of imbalance that the library measures when ranks come late by that pattern."""
    # hier:host, since calls of the host are not measured.
    settings = {"VERBOSE": "1", "ALLREDUCE": "strong=hier:host,hier:host"}
    told, time, calls = [], 1.0, 0
    while not told and calls < AGREED_CALLS and time < seconds:
        done = run_job(tools, shape["mpirun"], settings, [
            shape["bench"], "--imbalance", pattern, "-c", "allreduce", "-s", "8", "-t",
            "%g" % time, "--repeat", "1"], out, 2 * seconds)
        if done.code != 0 or not done.result:
            raise Failure(1, "--imbalance %s: %s" % (pattern, done.words()))
        calls = done.result["cases"][0]["calls_per_round"]
        time *= 1.5 * AGREED_CALLS / max(calls, 1)
        told = re.findall(r"imbalance of a communicator of %d ranks: (\w+)" % shape["ranks"],
                          done.said)
    return told[-1] if told else "balanced"


def placement_of(tools, result):
    """What a rule can ask for, "block" or "cyclic"; "" where it cannot, and where there is no
    choice: on one node, or with one rank on each."""
    has_choice = result["nodes"] > 1 and result["ppn_max"] > 1
    return result.get("placement", "") if has_choice and tools.info.accepts(PROBE_PLACEMENT) else ""


def shape_text(shape):
    """"mpich 4x4", "openmpi 3x1-3", "mpich 4x4 cyclic" """
    ppn = "%d" % shape["ppn_min"]
    if shape["ppn_max"] != shape["ppn_min"]:
        ppn += "-%d" % shape["ppn_max"]
    return "%s %dx%s%s" % (shape["flavour"], shape["nodes"], ppn, " cyclic" if is_cyclic(shape)
                           else "")
