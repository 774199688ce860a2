"""Choices of a tuning file beside the fastest plans that the simulator knows."""

import dataclasses
import itertools
import os

from collshim.info import Info
from figures_asked import COSTS, SETS, Table, by_factor, digits, size_text

ONE_NODE = (64, 128, 192)
SHAPES = [(4, 64), (16, 192), (64, 128), (4096, 64)]
SIZES = (8, 1 << 10, 8 << 10, 64 << 10, 1 << 20)
CLASSES = {"up to 1 KiB": 1 << 10, "to 64 KiB": 64 << 10, "above": 1 << 30}
LARGEST = (0, 8, 64 << 10)    # on thousands of nodes
AS_OTHERS = {"reduce_scatter_block": "reduce_scatter", "exscan": "scan"}    # the same plans
MOST_BUFFER = 1 << 30    # of one rank; larger calls are left out
# Among more ranks, or nodes, plans with as many rounds or messages of a rank are left out, ...
MOST_LINEAR = 256
DENSE = {"scatter-allgather"}    # the only ones with a root that send p^2 messages
LINEAR = DENSE | {
    "chain", "direct-ring", "equidistant-ring", "linear", "multi-sender", "neighbor", "node-pairs",
    "node-ring", "pairwise", "pipelined-ring", "ring", "scattered", "two-way-ring"}
MOST_FLAT = 1 << 13      # ... and all without hierarchy among more ranks
GROUPED = {"bine", "swing"}    # for groups of nodes, which no model here has (figures_groups.py)
MOST = {"best": 1.5, "flat": 1.05}    # the flat plan: 5 % is no difference
# What stands for hier:host and hier:overlap.
HOST, OVERLAP = {"barrier": "hier:dissemination"}, {"allgather": "dissemination",
                                                    "allgatherv": "ring"}


def bytes_of(coll, size, ranks):
    """Whole elements for each rank; None: a call that is too large."""
    if coll.name.startswith("reduce_scatter"):
        size = -(-size // (8 * ranks)) * 8 * ranks
    blocks = ranks if coll.has_blocks() or coll.name in ("gather", "scatter") else 1
    return size if size * blocks <= MOST_BUFFER else None


def simulated(coll, choice):
    """What collshim-sim runs for a choice; empty: it cannot."""
    name = choice["algorithm"]
    if name == "hier:overlap" and coll.name in OVERLAP:
        return "hier:%s --overlap" % OVERLAP[coll.name]
    if name not in coll.algorithms or name == "hier:host":
        return name if name == "host" else HOST.get(coll.name, "")
    return name + "".join(
        ":%s=%d" % (param.name, choice["parameters"][param.name])
        for param in coll.algorithms[name].params
        if param.name not in ("chunk", "wire_chunk", "lanes", "cma_min") and
        choice["parameters"][param.name] != param.default) if (
            coll.algorithms[name].is_plan or coll.algorithms[name].between) else ""


def prior_rows(args):
    """A row for each call on several nodes whose size all ranks know; calls on one node by choice.
    """
    info, rows, alone = Info(os.path.join(args.build, "src", "collshim-info"), args.tuning), [], {}
    if args.tuning != "builtin":
        info.run("--check", args.tuning)
    for coll in info.collectives.values():
        sizes = SIZES if coll.has_size else [0] if coll.name == "barrier" else []
        for nodes, ppn in [(1, ppn) for ppn in ONE_NODE] + (args.given or SHAPES):
            for size in sorted({bytes_of(coll, size, nodes * ppn) for size in sizes} - {None}):
                told = info.explain(coll.name + (":%d" % size) * coll.has_size, "--ppn",
                                    str(ppn), "--nodes", str(nodes))
                if nodes > 1000 and size not in LARGEST:
                    continue
                if nodes == 1:
                    alone.setdefault(told["chosen"]["algorithm"], {})[coll.name] = True
                elif coll.name not in AS_OTHERS:
                    rows.append(prior_row(coll, nodes, ppn, size, told))
    return rows, alone


def prior_row(coll, nodes, ppn, size, told):
    plans = [coll.algorithms[entry["name"]] for entry in told["algorithms"] if entry["serves"]
             and entry["name"].rpartition(":")[2] not in GROUPED]
    flat = [plan.name for plan in plans if plan.is_plan]
    hier = [plan.name for plan in plans if plan.between not in (None, "host")]
    dense = DENSE if coll.is_rooted else LINEAR
    kept = [name for name in flat if nodes * ppn <= (MOST_LINEAR if name in dense else MOST_FLAT)]
    own = simulated(coll, told["chosen"])
    return {"call": coll.name, "size": size_text(size), "nodes": "%dx%d" % (nodes, ppn),
            "points": [(nodes, ppn, size)], "choice": told["chosen"]["use"], "flat": kept,
            "hier": [name for name in hier
                     if nodes <= MOST_LINEAR or name.partition(":")[2] not in LINEAR],
            # The MPI is judged as the fastest plan, where that is known.
            "own": (kept if kept == flat else []) if own == "host" else [own]}


def fastest(case, plans):
    """(seconds by factor, name), None if none can be simulated."""
    found = [(case.own(times), plan) for plan in plans if plan for times in [case.sim.times(
        "%s:%s" % (case.row["call"], plan), *case.row["points"][0], case.models())] if times]
    return min(found, default=None)


def judged(case):
    """{"own", "best", "flat": (seconds by factor, name)} of what can be simulated."""
    own, flat, hier = (fastest(case, case.row[kind]) for kind in ("own", "flat", "hier"))
    return {"own": own, "flat": flat, "best": min(
        (pair for pair in (own, flat, hier) if pair), default=None)}


def ratios_of(found, kind):
    return [a / b for a, b in zip(found["own"][0], found[kind][0])] if (
        found["own"] and found[kind]) else []


def is_broken(found, kind):
    """With the node's costs, half and double of them, or it is no result."""
    ratios = ratios_of(found, kind)
    return bool(ratios) and min(ratios) > MOST[kind]


def over(kind):
    """A cell: the choice's time over the best or the best flat plan's, and that plan's name."""
    def cell(case):
        found = judged(case)
        if not found[kind]:
            return "not simulated"
        return "%s%s %s" % (by_factor(list(map(digits, ratios_of(found, kind)))) if found["own"]
                            else "not judged,", " !!" * is_broken(found, kind), found[kind][1])
    return cell


def classes(rows):
    """A row for each collective and class of sizes, with what belongs to it."""
    def key(row):
        return row["call"], next(text for text, most in CLASSES.items()
                                 if row["points"][0][2] <= most)
    return [{"call": call, "size": size, "of": list(of), "points": []}
            for (call, size), of in itertools.groupby(sorted(rows, key=lambda row: (
                row["call"], row["points"][0][2])), key)]


def members(case):
    """The cases of a class, of all sets, each with what is judged."""
    for at, row in itertools.product(range(len(SETS)), case.row["of"]):
        one = dataclasses.replace(case, row=row, at=at)
        yield one, judged(one)


def slowest(kind):
    """A cell: the largest ratio of the class, and where."""
    def cell(case):
        found = [(ratios_of(judgement, kind), one) for one, judgement in members(case)]
        ratios, one = max(((ratios, one) for ratios, one in found if ratios),
                          key=lambda pair: pair[0][0], default=(None, None))
        return "%s %s %s" % (by_factor(list(map(digits, ratios))), one.row["nodes"],
                             SETS[one.at]) if ratios else "not judged"
    return cell


def priors(args):
    rows, alone = prior_rows(args)

    def note(cases):
        found = list(map(judged, cases))
        broken = sum(any(is_broken(one, kind) for kind in MOST) for one in found)
        args.code = args.code or int(broken > 0)
        return ["%d rows; the choice is not judged in %d, and broken (!!) in %d." % (
            len(found), sum(not one["own"] for one in found), broken)]
    return ["What a tuning file chooses, and the fastest plans", """
Rules: %s. best: the fastest of the choice and all plans with their default parameters; flat: the
fastest without hierarchy. !!: the choice takes more than %g times as long as the best or %g times
as long as the flat one, and does so with the node's costs, with half and with double: a ratio that
crosses the limit within these is no result. `host` is judged as the fastest flat plan, where all
were simulated; hier:host of a barrier as %s, hier:overlap as a plan with --overlap, hier:host of
others not at all.""" % (args.tuning, *MOST.values(), HOST["barrier"]), """
Left out: bine and swing, which are for groups of nodes; plans of p^2 messages, or p messages
between nodes, among more than %d, all without hierarchy among more than %d ranks, calls with
buffers above 1 GiB, most sizes on 4,096 nodes; alltoallv, alltoallw, gatherv and scatterv, whose
sizes not all ranks know; %s. On one node (%s ranks) nothing is simulated, as the model does not
have what shared memory costs there; the choices are: %s.""" % (
        MOST_LINEAR, MOST_FLAT, "; ".join(map("%s, which is as %s".__mod__, AS_OTHERS.items())),
        ", ".join(map(str, ONE_NODE)),
        "; ".join("%s of %s" % (name, ", ".join(colls)) for name, colls in alone.items())),
            COSTS, SETS, Table(
        "The slowest choices of each class of sizes, both sets, simulated:",
        ["call", "size", ("calls judged", lambda case: "%d of %d" % (
            sum(bool(found["own"]) for _, found in members(case)),
            len(SETS) * len(case.row["of"]))),
         ("choice / best", slowest("best")), ("choice / flat", slowest("flat"))],
        classes(rows), {}), Table(
        "{model}, simulated:", ["call", "size", "nodes", "choice", ("choice / best", over("best")),
                                ("choice / flat", over("flat"))], rows, {}, note=note)]
