"""The report of one run (docs/report-json.md), as far as a profile and a comparison ask for it."""

import re

from collshim.files import read_json


def mean(spread):
    """Of {"least", "mean", "most", "rank"} of the ranks' seconds; None where nothing is known."""
    return spread["mean"] if isinstance(spread, dict) else None


class Found:
    def __init__(self, data):
        self.data = data
        self.facts, self.rows = data.get("facts", {}), data.get("rows", [])
        self.ranks = data.get("ranks") or self.facts.get("ranks")
        # "MPICH Version: 4.0.2", "Open MPI v4.1.4, package: ..."
        self.mpi = re.sub(r" Version:|,.*", "", str(self.facts.get("mpi", "an MPI")).split("\n")[0])
        self.nodes = data.get("nodes") or []

    @classmethod
    def read(cls, path):
        """None where there is none."""
        data = read_json(path)
        return cls(data) if isinstance(data, dict) and "facts" in data else None

    def run_seconds(self):
        """From MPI_Init to MPI_Finalize, of a rank in the mean."""
        return mean(self.data.get("run"))

    def part(self, kind):
        """Seconds of a rank in the mean in calls of that kind of `mpi`; None: not measured."""
        found = (self.data.get("mpi") or {}).get(kind)
        return mean(found.get("seconds")) if found else None

    def waiting(self):
        return mean(self.data.get("waiting"))

    def moving(self):
        return mean(self.data.get("moving"))

    def gain(self):
        """Seconds of a rank that the library has saved, by the calls that live choice gave to the
        MPI; None: there were none."""
        gain = self.data.get("gain_seconds")
        return gain if gain is None or isinstance(gain, (int, float)) else mean(gain)

    def servable(self):
        """The part of `moving` that is of collectives that the library can serve: all but those of
        neighbours."""
        rows = [(row["collective"], mean(row.get("moving")) or 0, row.get("ranks") or 1)
                for row in self.rows]
        whole = sum(seconds * ranks for _, seconds, ranks in rows)
        served = sum(seconds * ranks for name, seconds, ranks in rows
                     if not name.startswith("neighbor"))
        return served / whole if whole else 1.0

    def shape(self):
        """"MPICH 4.0.2, 8 ranks on 2 nodes" """
        text = "%s, %s" % (self.mpi, "1 rank" if self.ranks == 1 else "%s ranks" % self.ranks)
        return text + (" on %d nodes" % len(self.nodes) if len(self.nodes) > 1 else "")

    def crowded(self):
        """A line where a node has more ranks than cores; else nothing."""
        for node in self.nodes:
            if node.get("cores") and node["ranks"] > node["cores"]:
                return "%d ranks on %d cores" % (node["ranks"], node["cores"]) + (
                    " of " + node["machine"] if node.get("machine") else "")
        return ""

    def served(self):
        """(calls that the library served, all, the algorithms of most calls with their number)"""
        calls = sum(row["calls"] for row in self.rows)
        ours = [row for row in self.rows if not row["deferred"]]
        kinds = {}
        for row in ours:
            key = "%s %s" % (row["collective"], row["algorithm"])
            kinds[key] = kinds.get(key, 0) + row["calls"]
        return sum(row["calls"] for row in ours), calls, sorted(kinds.items(), key=lambda pair:
                                                                -pair[1])
