"""What a report says in words: the verdict, and advice ordered by seconds."""

from collshim.reporting.draw import seconds_text

LITTLE = 0.02  # share of the run below which collectives do not matter
FEW = 10       # sampled calls, of which less say nothing
OFTEN = 0.5    # of the calls in which a rank comes last


def mean(span):
    return span["mean"] if span else None


def shares(data):
    """(name, seconds, colour) of a rank's mean run."""
    run = mean(data.get("run")) or 0
    mpi = data.get("mpi") or {}

    def of(name):
        return mean((mpi.get(name) or {}).get("seconds")) or 0

    inside = of("collectives") + of("nonblocking")
    waiting, moving = mean(data.get("waiting")), mean(data.get("moving"))
    is_measured = bool(mpi.get("point_to_point"))
    rest = max(run - inside - of("point_to_point") - of("other"), 0)
    parts = [("computing" if is_measured else "not in collectives", rest, "var(--compute)")]
    if is_measured:
        parts += [("point-to-point", of("point_to_point"), "var(--p2p)"),
                  ("other MPI calls", of("other"), "var(--other)")]
    if waiting is None:
        parts.append(("collectives", inside, "var(--unknown)"))
    else:
        parts += [("waiting for late ranks", waiting, "var(--wait)"),
                  ("moving data", moving, "var(--move)")]
        if inside - waiting - moving > 0.001 * run:
            parts.append(("collectives, not told apart", inside - waiting - moving,
                          "var(--unknown)"))
    return parts


def verdict(data):
    run = mean(data.get("run"))
    inside = mean(((data.get("mpi") or {}).get("collectives") or {}).get("seconds"))
    if data.get("uncounted"):
        return "Nothing is known of this run's calls: %s." % data["uncounted"]
    if not run or inside is None:
        return ""
    waiting, moving, gain = mean(data.get("waiting")), mean(data.get("moving")), data.get(
        "gain_seconds")
    inside += mean((data["mpi"].get("nonblocking") or {}).get("seconds")) or 0
    part = "%s of a run of %s (%.1f %%)" % (seconds_text(inside), seconds_text(run),
                                           100 * inside / run)
    if inside < LITTLE * run:
        return ("Collectives take %s: nothing to gain from faster ones. The time is %s." % (
            part, "in point-to-point and computing" if data["mpi"].get("point_to_point")
            else "elsewhere"))
    text = "A rank spends %s in collectives" % part
    if waiting is not None:
        text += ": %s waiting for late ranks, %s moving data" % (seconds_text(waiting),
                                                               seconds_text(moving))
        if inside - waiting - moving > 0.1 * inside:
            text += ", %s not told apart" % seconds_text(inside - waiting - moving)
    text += "."
    if gain is not None and gain > 0:
        text += (" By the calls that were given to the MPI to compare, the library saved %s: "
                 "without it the run would have taken %s." % (seconds_text(gain),
                                                             seconds_text(run + gain)))
    elif gain is not None:
        text += " Calls that were given to the MPI to compare took as long: nothing was saved."
    elif moving is not None and is_profile(data):
        text += " At most %s can be gained by moving data faster." % seconds_text(moving)
    return text


def is_profile(data):
    return (data.get("facts") or {}).get("mode") == "profile"


def last_shares(late):
    """{rank: share of the calls in which it came last}, over calls with a spread."""
    counts, calls = {}, 0
    for column in range(len(late["calls"])):
        times = [row[column] for row in late["late_us"]]
        if max(times) <= 0:
            continue
        calls += 1
        rank = late["ranks"][times.index(max(times))]
        counts[rank] = counts.get(rank, 0) + 1
    return {rank: count / calls for rank, count in counts.items()} if calls >= FEW else {}


def of_lateness(data):
    late, waiting = data.get("lateness"), mean(data.get("waiting"))
    if not late or not waiting:
        return
    for rank, share in sorted(last_shares(late).items(), key=lambda pair: -pair[1])[:3]:
        if share >= OFTEN:
            yield waiting * share, (
                "Rank %d comes last in %.0f %% of the sampled calls, and the others wait for it: "
                "it has more work, or a slower core, than they have." % (rank, 100 * share))
            return
    if waiting > 0.3 * (mean(data["mpi"]["collectives"]["seconds"]) or 0):
        yield waiting, ("Most of the waiting is for other ranks in turn: the work between two "
                        "calls differs from rank to rank and from call to call (see the heat "
                        "map).")


def of_remedies(data):
    found = {}
    for row in data.get("rows", []):
        if row.get("deferred") and row.get("remedy"):
            one = found.setdefault((row["why"], row["remedy"]), [0, 0])
            one[0] += row["seconds"]
            one[1] += row["calls"]
    for (why, remedy), (seconds, calls) in found.items():
        yield seconds, "%d calls were left to the MPI (%s): %s." % (calls, why, remedy)


def named(nodes):
    return nodes[0]["machine"] if len(nodes) == 1 else "%d nodes (%s, ...)" % (
        len(nodes), nodes[0]["machine"])


def of_nodes(data):
    nodes = data.get("nodes", [])
    crowded = [node for node in nodes if node.get("cores") and node["ranks"] > node["cores"]]
    loaded = [node for node in nodes if node.get("cores") and node not in crowded and
              (node.get("load_before") or 0) > max(node["cores"] - node["ranks"], 0) + 1]
    full = [node for node in nodes if node.get("shm_budget") and
            node["shm_peak"] > 0.9 * node["shm_budget"]]
    refused = [node for node in nodes if node.get("cma") is False]
    if crowded:
        yield 0, "More ranks than cores on %s: %d on %d; ranks wait for a core." % (
            named(crowded), crowded[0]["ranks"], crowded[0]["cores"])
    if loaded:
        yield 0, ("Others used %s too: a load of %.0f when the run began, with %d ranks on %d "
                  "cores; its times say little." % (
                      named(loaded), loaded[0]["load_before"], loaded[0]["ranks"],
                      loaded[0]["cores"]))
    if full:
        yield 0, "More than 90 %% of the budget of shared memory was used on %s: " % named(full) + (
            "a larger COLLSHIM_SHM_BUDGET lets more communicators be served.")
    if refused:
        yield 0, ("process_vm_readv is refused between ranks of %s: large blocks are copied twice "
                  "(collshim-info --doctor)." % named(refused))


def advice(data):
    """[(seconds, text)], most seconds first."""
    found = [one for part in (of_lateness, of_remedies, of_nodes) for one in part(data)]
    return sorted(found, key=lambda one: -one[0])
