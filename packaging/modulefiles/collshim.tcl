#%Module1.0
# collshim @VERSION@, for Environment Modules (and Lmod): every MPI program that is started from now
# on has the library.
set here [file dirname [file normalize $ModulesCurrentModulefile]]
set prefix [file normalize [file join $here "@TO_PREFIX@"]]
if {![file exists [file join $prefix "@LIBDIR@" libcollshim.so]]} {
	set prefix "@PREFIX@"
}

proc ModulesHelp {} {
	puts stderr "Makes the collectives of MPI programs faster, by LD_PRELOAD."
	puts stderr "COLLSHIM_DISABLE=1 leaves every call to the MPI; COLLSHIM_REPORT=1 says what\
		was done."
	puts stderr "Open MPI's mpirun on several nodes: mpirun -x LD_PRELOAD ..."
}
module-whatis "collshim @VERSION@: MPI collectives made faster by LD_PRELOAD"

prepend-path LD_PRELOAD [file join $prefix "@LIBDIR@" libcollshim.so]
prepend-path PATH [file join $prefix "@BINDIR@"]
prepend-path MANPATH [file join $prefix "@MANDIR@"]
prepend-path PKG_CONFIG_PATH [file join $prefix "@LIBDIR@" pkgconfig]
