"""Every blocking collective from mpi4py, those of neighbours too, with and without IN_PLACE,
results checked. Without numpy."""
import sys
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
root, n = size - 1, 3
failures = 0


def expect(name, got, wanted):
    global failures
    if list(got) != list(wanted):
        print(f"FAILED {name}: rank {rank} has {list(got)}, not {list(wanted)}")
        failures += 1


def value(r, to, i):
    return 10000 * r + 100 * to + i + 1


def ints(values):
    return array("i", values)


def zeros(count):
    return ints([0] * count)


counts = [r + 1 for r in range(size)]
displs = [sum(counts[:r]) + r for r in range(size)]  # holes of one element
extent = sum(counts) + size
INT = MPI.INT

mine = ints(value(rank, 0, i) for i in range(n))
wanted = [value(r, 0, i) for r in range(size) for i in range(n)]
into = zeros(size * n)
comm.Allgather(mine, into)
expect("allgather", into, wanted)
into = zeros(size * n)
into[rank * n:rank * n + n] = mine
comm.Allgather(MPI.IN_PLACE, into)
expect("allgather in place", into, wanted)
into = zeros(size * n)
comm.Gather(mine, into if rank == root else None, root)
if rank == root:
    expect("gather", into, wanted)

mine = ints(value(rank, 0, i) for i in range(rank + 1))
wanted = [0] * extent
for r in range(size):
    wanted[displs[r]:displs[r] + counts[r]] = [value(r, 0, i) for i in range(counts[r])]
into = zeros(extent)
comm.Allgatherv(mine, [into, counts, displs, INT])
expect("allgatherv", into, wanted)
into = zeros(extent)
into[displs[rank]:displs[rank] + rank + 1] = mine
comm.Allgatherv(MPI.IN_PLACE, [into, counts, displs, INT])
expect("allgatherv in place", into, wanted)
into = zeros(extent)
comm.Gatherv(mine, [into, counts, displs, INT] if rank == root else None, root)
if rank == root:
    expect("gatherv", into, wanted)

out = ints(value(rank, r, i) for r in range(size) for i in range(n))
wanted = [value(r, rank, i) for r in range(size) for i in range(n)]
into = zeros(size * n)
comm.Alltoall(out, into)
expect("alltoall", into, wanted)
into = ints(out)
comm.Alltoall(MPI.IN_PLACE, into)
expect("alltoall in place", into, wanted)
into = zeros(n)
comm.Scatter(out if rank == root else None, into, root)
expect("scatter", into, [value(root, rank, i) for i in range(n)])

out = zeros(extent)
for r in range(size):
    out[displs[r]:displs[r] + counts[r]] = ints(value(rank, r, i) for i in range(counts[r]))
same = [rank + 1] * size
at = [r * (rank + 1) for r in range(size)]
wanted = [value(r, rank, i) for r in range(size) for i in range(rank + 1)]
into = zeros(size * (rank + 1))
comm.Alltoallv([out, counts, displs, INT], [into, same, at, INT])
expect("alltoallv", into, wanted)
into = zeros(size * (rank + 1))
comm.Alltoallw([out, counts, [4 * d for d in displs], [INT] * size],
               [into, same, [4 * a for a in at], [INT] * size])
expect("alltoallw", into, wanted)
into = zeros(rank + 1)
comm.Scatterv([out, counts, displs, INT] if rank == root else None, into, root)
expect("scatterv", into, [value(root, rank, i) for i in range(rank + 1)])

out = ints(rank + i for i in range(extent))
wanted = [size * (size - 1) // 2 + size * i for i in range(extent)]
into = zeros(extent)
comm.Allreduce(out, into)
expect("allreduce", into, wanted)
into = ints(out)
comm.Allreduce(MPI.IN_PLACE, into)
expect("allreduce in place", into, wanted)
into = zeros(extent)
comm.Reduce(out, into if rank == root else None, MPI.SUM, root)
if rank == root:
    expect("reduce", into, wanted)
into = zeros(1)
comm.Reduce_scatter_block(ints(out[:size]), into)
expect("reduce_scatter_block", into, wanted[rank:rank + 1])
into = zeros(rank + 1)
comm.Reduce_scatter(ints(out[:sum(counts)]), into, counts)
first = sum(counts[:rank])
expect("reduce_scatter", into, wanted[first:first + rank + 1])

mine = ints(rank + i for i in range(n))
wanted = [rank * (rank + 1) // 2 + (rank + 1) * i for i in range(n)]
into = zeros(n)
comm.Scan(mine, into)
expect("scan", into, wanted)
into = ints(mine)
comm.Scan(MPI.IN_PLACE, into)
expect("scan in place", into, wanted)
wanted = [rank * (rank - 1) // 2 + rank * i for i in range(n)]
into = zeros(n)
comm.Exscan(mine, into)
expect("exscan", into, wanted)
into = ints(mine)
comm.Exscan(MPI.IN_PLACE, into)
expect("exscan in place", into, wanted if rank else mine)

# On a line: what the ranks before and behind this one have; of none nothing comes.
line = comm.Create_cart([size])
mine = ints(value(rank, 0, i) for i in range(n))
wanted = [value(r, 0, i) if 0 <= r < size else 0 for r in (rank - 1, rank + 1) for i in range(n)]
into = zeros(2 * n)
line.Neighbor_allgather(mine, into)
expect("neighbor_allgather", into, wanted)
into = zeros(2 * n)
line.Neighbor_allgatherv(mine, [into, [n, n], [0, n], INT])
expect("neighbor_allgatherv", into, wanted)
into = zeros(2 * n)
line.Neighbor_alltoall(mine + mine, into)
expect("neighbor_alltoall", into, wanted)
into = zeros(2 * n)
line.Neighbor_alltoallv([mine + mine, [n, n], [0, n], INT], [into, [n, n], [0, n], INT])
expect("neighbor_alltoallv", into, wanted)
into = zeros(2 * n)
line.Neighbor_alltoallw([mine + mine, [n, n], [0, 4 * n], [INT, INT]],
                        [into, [n, n], [0, 4 * n], [INT, INT]])
expect("neighbor_alltoallw", into, wanted)
line.Free()

into = ints(value(root, 0, i) for i in range(n)) if rank == root else zeros(n)
comm.Bcast(into, root)
expect("bcast", into, [value(root, 0, i) for i in range(n)])
comm.Barrier()

# The lower-case calls pickle; they are collectives of bytes of unequal sizes underneath.
expect("allgather of objects", comm.allgather("x" * rank), ["x" * r for r in range(size)])
expect("allreduce of objects", [comm.allreduce(rank)], [size * (size - 1) // 2])

everywhere = comm.allreduce(failures)
if rank == 0 and everywhere == 0:
    print(f"every collective of mpi4py is right with {size} ranks")
sys.exit(everywhere != 0)
