"""A Python program by mpi4py: operations that are Python functions, pickled objects, communicators
that the garbage collector meets at any time, and worker processes beside the ranks."""

import gc
import multiprocessing
import sys

import numpy
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.rank, WORLD.size
SUM_OF_RANKS = SIZE * (SIZE - 1) // 2
faults = 0


def check(claim, what):
    global faults
    if not claim:
        faults += 1
        print("rank %d: %s" % (RANK, what), file=sys.stderr)


def square(number):
    return number * number


def operations():
    def larger(first, second, datatype):
        one, other = numpy.frombuffer(first, "d"), numpy.frombuffer(second, "d")
        numpy.maximum(one, other, out=other)

    for count in (1, 10, 1000, 40000):
        mine = numpy.arange(count, dtype="d") + RANK
        result = numpy.empty_like(mine)
        op = MPI.Op.Create(larger, commute=True)
        WORLD.Allreduce(mine, result, op=op)
        check((result == numpy.arange(count) + SIZE - 1).all(),
              "allreduce of %d by a function" % count)
        WORLD.Reduce_scatter_block(numpy.tile(mine, SIZE), result, op=op)
        check((result == numpy.arange(count) + SIZE - 1).all(),
              "reduce_scatter_block of %d" % count)
        op.Free()
        every = numpy.zeros((SIZE, count), dtype="i")
        every[RANK] = RANK
        WORLD.Allgather(MPI.IN_PLACE, every)
        check((every == numpy.arange(SIZE)[:, None]).all(), "allgather of %d in place" % count)
        table = numpy.zeros((count, 7), dtype="f")
        if RANK == 0:
            table[:] = 3
        column = MPI.FLOAT.Create_vector(count, 1, 7).Commit()
        WORLD.Bcast([table, 1, column], root=0)
        check((table[:, 0] == 3).all(), "bcast of a column of %d" % count)
        column.Free()


def pickled():
    lists = WORLD.allreduce([RANK] * 3, op=lambda one, other: one + other)
    check(lists == [rank for rank in range(SIZE) for _ in range(3)],
          "lists are joined in rank order")
    check(WORLD.allreduce({RANK}, op=lambda one, other: one | other) == set(range(SIZE)), "sets")
    check(WORLD.bcast({"from": RANK}, root=SIZE - 1) == {"from": SIZE - 1}, "bcast")
    sent = [100 * RANK + rank for rank in range(SIZE)]
    check(WORLD.alltoall(sent) == [100 * rank + RANK for rank in range(SIZE)], "alltoall")
    check(WORLD.allgather("x" * RANK) == ["x" * rank for rank in range(SIZE)], "allgather")


def collected():
    for turn in range(40):
        copy = WORLD.Dup()
        for _ in range(3):
            check(copy.allreduce(RANK) == SUM_OF_RANKS, "allreduce on a copy")
        copy.Free()
        del copy
        if (turn + RANK) % 3 == 0:
            gc.collect()


def workers(kind):
    context = multiprocessing.get_context(kind)
    with context.Pool(2) as pool:
        check(pool.map(square, range(8)) == [square(number) for number in range(8)], "pool")
        check(WORLD.allreduce(RANK) == SUM_OF_RANKS, "allreduce beside a pool")
    mine = numpy.full(200000, RANK, dtype="d")
    result = numpy.empty_like(mine)
    WORLD.Allreduce(mine, result)
    check((result == SUM_OF_RANKS).all(), "allreduce after a pool")


def main():
    wish = sys.argv[1]
    {"operations": operations, "pickled": pickled,
     "collected": collected}.get(wish, lambda: workers(wish))()
    WORLD.Barrier()
    if RANK == 0 and not faults:
        print("ok")
    sys.stdout.flush()
    sys.exit(3 if faults else 0)


if __name__ == "__main__":
    main()
