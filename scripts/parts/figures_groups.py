"""Bytes between groups of nodes: Bine trees and butterflies against binomial ones and recursive
doubling (De Sensi et al., SC '25 and NSDI '24)."""

import dataclasses
from statistics import fmean

from figures_asked import Table, digits, size_text

NODES, GROUPS, TAPER = (64, 128), (8, 12, 16, 24), 4
MODEL = ("hdr-like",)
# Calls, sizes, the usual plan, the others.
PAIRS = (
    ("bcast", 4 << 10, "binomial", "bine"), ("reduce", 4 << 10, "binomial", "bine"),
    ("scatter", 1 << 10, "binomial", "bine"), ("gather", 1 << 10, "binomial", "bine"),
    ("allreduce", 4 << 10, "recursive-doubling", "bine"), ("alltoall", 64, "bruck", "bine"),
    ("allgather", 1 << 10, "recursive-doubling", "bine"),
    ("reduce_scatter_block", 1 << 20, "halving", "bine"),
    ("bcast", 1 << 20, "scatter-allgather:doubling=1", "bine"),
    ("reduce", 1 << 20, "scatter-gather", "bine"), ("allreduce", 1 << 20, "rabenseifner", "bine"),
    ("allreduce", 1 << 20, "rabenseifner", "swing"))
APART = 3    # first groups that are simulated: of 1, 4, 7, .. nodes
NAMES = {plan: "{call}:{%s} --groups {group}:{first} --taper %d" % (plan, TAPER)
         for plan in ("usual", "other")}
GLOBAL = "between groups exactly"


def rows():
    return [{"call": call, "size": size_text(size), "usual": usual, "other": other,
             "nodes": nodes, "points": [(nodes, 1, size)]}
            for call, size, usual, other in PAIRS for nodes in NODES]


def mean(case, plan, group, what=None):
    """Of jobs that begin at other nodes of a group, or at its first."""
    return fmean(dataclasses.replace(case, row={
        **case.row, "group": group, "first": first})(plan, what)[0]
        for first in ([group] if case.row.get("aligned") else range(1, group + 1, APART)))


def crossing(group):
    """A cell: the other plan's bytes between groups over the usual one's."""
    return lambda case: "%.2f" % (mean(case, "other", group, GLOBAL) /
                                  mean(case, "usual", group, GLOBAL))


def aligned(group):
    return lambda case: crossing(group)(dataclasses.replace(case, row={**case.row, "aligned": 1}))


def duration(group):
    return lambda case: digits(mean(case, "other", group) / mean(case, "usual", group))


def groups(args):
    return ["Traffic between groups of nodes: Bine and Swing", """
One rank on each node; nodes in groups of so many, whose links are tapered %d to 1. Columns of
group sizes: bytes that cross groups, over those of the usual plan; time: the same of times with
groups of %d. Means of jobs that begin anywhere in a group: with 1, %d, %d, .. nodes of the first
one; aligned: jobs that begin with a group, of a power of two of nodes. The paper (arXiv
2508.17311): two thirds of the distance, and up to 33 %% less traffic on global links, that is no
less than 0.67.""" % (TAPER, GROUPS[2], 1 + APART, 1 + 2 * APART),
            MODEL, Table(
        "Bytes between groups and times, over the usual plan's; {model}, simulated:",
        ["call", "size", "nodes", ("usual plan", "usual"), ("plan", "other"),
         *(("groups of %d" % group, crossing(group)) for group in GROUPS),
         ("%d, aligned" % GROUPS[2], aligned(GROUPS[2])),
         ("time", duration(GROUPS[2]))], rows(), NAMES, MODEL, ())]
