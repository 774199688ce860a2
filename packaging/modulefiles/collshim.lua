-- collshim @VERSION@, for Lmod: every MPI program that is started from now on has the library.
local prefix = myFileName():match("^(.*)/[^/]*$")
for _ in ("@TO_PREFIX@"):gmatch("%.%.") do
	prefix = prefix:match("^(.*)/[^/]*$") or ""
end
if not isFile(pathJoin(prefix, "@LIBDIR@", "libcollshim.so")) then
	prefix = "@PREFIX@"
end

help([[Makes the collectives of MPI programs faster, by LD_PRELOAD.
COLLSHIM_DISABLE=1 leaves every call to the MPI; COLLSHIM_REPORT=1 says what was done.
Open MPI's mpirun on several nodes: mpirun -x LD_PRELOAD ...]])
whatis("Name: collshim")
whatis("Version: @VERSION@")
whatis("Description: MPI collectives made faster by LD_PRELOAD")

prepend_path("LD_PRELOAD", pathJoin(prefix, "@LIBDIR@", "libcollshim.so"))
prepend_path("PATH", pathJoin(prefix, "@BINDIR@"))
prepend_path("MANPATH", pathJoin(prefix, "@MANDIR@"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "@LIBDIR@", "pkgconfig"))
