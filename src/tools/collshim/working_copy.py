"""For scripts and tests of the working copy; not installed."""

import os
import subprocess

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def build_folder():
    """Where scripts/build builds."""
    return subprocess.run([os.path.join(TOP, "scripts", "build"), "--where"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def launch_words(build, mpi, shape, timeout, *options):
    """A job of tests/launch, up to its "--": NODESxRANKS of several nodes is a cluster in a box."""
    if not shape.startswith(("1x", "cluster:")):
        shape = "cluster:" + shape
    words = [os.path.join(TOP, "tests", "launch"), "--mpi", mpi, "--shape", shape,
             "--timeout", "%d" % timeout]
    companion = os.path.join(build, "tests", "support", "mpich_companion.so")
    if os.path.exists(companion):
        words += ["--companion", companion]
    return words + list(options) + ["--"]
