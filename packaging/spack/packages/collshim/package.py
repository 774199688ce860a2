# Copyright 2026, the collshim authors. SPDX-License-Identifier: BSD-3-Clause
"""Recipe for Spack, not yet tried with it. There is no public address to fetch from: build the
working copy, `spack repo add packaging/spack && spack dev-build -d . collshim@main`."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage    # Spack 1.0 and later
except ImportError:
    pass    # before it, spack.package has brought it


class Collshim(MesonPackage):
    """MPI collectives made faster by LD_PRELOAD, without a change to program or MPI."""

    maintainers("collshim")
    license("BSD-3-Clause")

    version("main")
    version("0.2.0")

    # Spack has one MPI in a spec: for both install twice, and the library of either serves the MPI
    # of its own.
    variant("mpich", default=True, description="the module for MPICH and its relatives")
    variant("openmpi", default=False, description="the module for Open MPI")
    variant("verbs", default=True, description="messages between nodes by RDMA verbs")
    variant("bench", default=True, description="collshim-bench for each MPI")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("hwloc@2:")
    depends_on("libyaml")    # its archive
    depends_on("rdma-core", when="+verbs")
    depends_on("mpich", when="+mpich")
    depends_on("openmpi@3:", when="+openmpi")

    requires("+mpich", "+openmpi", policy="one_of", msg="for MPICH or for Open MPI")

    def meson_args(self):
        names = ("mpich", "openmpi", "verbs", "bench")
        return ["-Dtests=disabled", "-Dpkgconfig.relocatable=true"] + [
            "-D%s=%s" % (name, "enabled" if self.spec.satisfies("+" + name) else "disabled")
            for name in names]

    def setup_run_environment(self, env):
        env.prepend_path("LD_PRELOAD", join_path(self.prefix.lib, "libcollshim.so"))
