"""For scripts and tests of the working copy; not installed."""

import os
import re
import subprocess

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def build_folder():
    """Where scripts/build builds."""
    return subprocess.run([os.path.join(TOP, "scripts", "build"), "--where"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def read_shape(shape):
    """(nodes, ranks on each, is cyclic) of a shape as "4x2", "4x2:cyclic", "fake:4x2" or
    "4x2:permuted", which is a job's communicator; None of what is none."""
    match = re.fullmatch(r"(fake:)?([1-9]\d*)x([1-9]\d*)(:cyclic|:permuted)?", shape)
    return match and (int(match[2]), int(match[3]), match[4] == ":cyclic")


def launch_words(build, mpi, shape, timeout, *options):
    """A job of tests/launch, up to its "--": NODESxRANKS of several nodes is a cluster in a box,
    fake:NODESxRANKS are ranks that take one machine for several nodes."""
    shape = shape.removesuffix(":permuted")
    if shape.startswith("fake:"):
        nodes, ranks, is_cyclic = read_shape(shape)
        shape = "1x%d" % (nodes * ranks)
        options += "--fake", ("cyclic:%d" if is_cyclic else "%d") % nodes
    elif not shape.startswith(("1x", "cluster:")):
        shape = "cluster:" + shape
    words = [os.path.join(TOP, "tests", "launch"), "--mpi", mpi, "--shape", shape,
             "--timeout", "%d" % timeout]
    companion = os.path.join(build, "tests", "support", "mpich_companion.so")
    if os.path.exists(companion):
        words += ["--companion", companion]
    return words + list(options) + ["--"]
