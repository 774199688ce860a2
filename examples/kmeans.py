#!/usr/bin/python3
"""kmeans.py - groups points in the plane around k centres (Lloyd's method), with mpi4py and numpy.

  mpirun -n 4 python3 kmeans.py [-n POINTS] [-i ITERATIONS] [-k CENTRES]

Each rank holds a block of the points; a step sums, for each centre, the points nearest to it by one
Allreduce. Coordinates are whole numbers, so that the sums are exact in any order: the output is the
same for every number of ranks, but for the line that begins with "time".
"""

import argparse

import numpy
from mpi4py import MPI

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("-n", type=int, default=20000)
parser.add_argument("-i", type=int, default=100)
parser.add_argument("-k", type=int, default=16)
options = parser.parse_args()
if options.k < 1 or options.n < options.k or options.i < 1:
    parser.error("at least one centre, one step, and as many points as centres")

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
numbers = numpy.arange(options.n, dtype=numpy.int64)
points = numpy.stack([numbers * 7919 % 100003, numbers * numbers % 99991], axis=1)
first, end = options.n * rank // ranks, options.n * (rank + 1) // ranks
mine = points[first:end]
centres = points[:options.k].copy()

world.Barrier()
start = MPI.Wtime()
for step in range(options.i):
    distances = ((mine[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    sums = numpy.zeros((options.k, 3), dtype=numpy.int64)
    numpy.add.at(sums, nearest,
                 numpy.column_stack([mine, numpy.ones(len(mine), dtype=numpy.int64)]))
    totals = numpy.empty_like(sums)
    world.Allreduce(sums, totals, op=MPI.SUM)
    filled = totals[:, 2] > 0
    centres[filled] = totals[filled, :2] // totals[filled, 2:]
world.Barrier()
seconds = MPI.Wtime() - start

sizes = world.gather(len(mine), root=0)
if rank == 0:
    print("points %d" % sum(sizes))
    for x, y in centres:
        print("centre %d %d" % (x, y))
    print("time %.6f s" % seconds)
