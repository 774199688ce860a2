"""Every non-blocking collective from mpi4py, and every persistent one where it has them (4.0),
compared with the blocking ones. Without numpy."""
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
root, n = size - 1, 3
failures = 0
INT = MPI.INT
counts = [r + 1 for r in range(size)]
displs = [sum(counts[:r]) + r for r in range(size)]
same, at = [n] * size, [n * r for r in range(size)]
room = n * size * (size + 1)
out, into = array("i", [0] * room), array("i", [0] * room)


def of(buffer, count):
    return [buffer, count, INT]


def spread(buffer):
    return [buffer, same, at, INT]


def uneven(buffer):
    return [buffer, counts, displs, INT]


def typed(buffer):
    return [buffer, same, [4 * a for a in at], [INT] * size]


here = rank == root
CALLS = {
    "Allgather": lambda to: (of(out, n), of(to, n)),
    "Allgatherv": lambda to: (of(out, rank + 1), uneven(to)),
    "Allreduce": lambda to: (of(out, n), of(to, n)),
    "Alltoall": lambda to: (of(out, n), of(to, n)),
    "Alltoallv": lambda to: (spread(out), spread(to)),
    "Alltoallw": lambda to: (typed(out), typed(to)),
    "Barrier": lambda to: (),
    "Bcast": lambda to: (of(to, n), root),
    "Exscan": lambda to: (of(out, n), of(to, n)),
    "Gather": lambda to: (of(out, n), of(to, n) if here else None, root),
    "Gatherv": lambda to: (of(out, rank + 1), uneven(to) if here else None, root),
    "Reduce": lambda to: (of(out, n), of(to, n) if here else None, MPI.SUM, root),
    "Reduce_scatter": lambda to: (of(out, sum(counts)), of(to, rank + 1), counts),
    "Reduce_scatter_block": lambda to: (of(out, n * size), of(to, n)),
    "Scan": lambda to: (of(out, n), of(to, n)),
    "Scatter": lambda to: (of(out, n) if here else None, of(to, n), root),
    "Scatterv": lambda to: (uneven(out) if here else None, of(to, rank + 1), root),
}
TURNS = 3


def fill(name, turn, buffer):
    for i in range(room):
        out[i] = 10000 * rank + 100 * turn + i
        buffer[i] = out[i] if name == "Bcast" and here else -5


def compare(what, turn, wanted):
    global failures
    if into != wanted:
        print(f"FAILED {what}: rank {rank}, turn {turn}, has {list(into)}, not {list(wanted)}")
        failures += 1


comm.Barrier()
persistent = [name for name in CALLS if hasattr(comm, f"{name}_init")]
for name, arguments in CALLS.items():
    request = None
    for turn in range(TURNS if name in persistent else 1):
        wanted = array("i", into)
        fill(name, turn, wanted)
        getattr(comm, name)(*arguments(wanted))
        fill(name, turn, into)
        getattr(comm, f"I{name.lower()}")(*arguments(into)).Wait()
        compare(f"I{name.lower()}", turn, wanted)
        if name not in persistent:
            continue
        fill(name, turn, into)
        request = request or getattr(comm, f"{name}_init")(*arguments(into))
        request.Start()
        while turn % 2 and not request.Test():
            pass
        request.Wait()
        compare(f"{name}_init", turn, wanted)
    if request:
        request.Free()

everywhere = comm.allreduce(failures)
if rank == 0 and everywhere == 0:
    print(f"every collective of mpi4py can be started with {size} ranks,"
          f" {len(persistent)} of them again")
sys.exit(everywhere != 0)
