"""The report that COLLSHIM_REPORT=FILE asks for."""

from collshim.files import read_json


class Report:
    def __init__(self, data):
        self.facts, self.rows = data.get("facts", {}), data["rows"]

    @classmethod
    def read(cls, path):
        """None where there is none."""
        data = read_json(path)
        is_report = isinstance(data, dict) and isinstance(data.get("rows"), list)
        return cls(data) if is_report else None

    def calls(self):
        """{(collective, algorithm, or "host"): calls}, those with most first."""
        found = {}
        for row in self.rows:
            key = row["collective"], "host" if row["deferred"] else row["algorithm"]
            found[key] = found.get(key, 0) + row["calls"]
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def served(self):
        """(calls that the library served, all)"""
        return (sum(row["calls"] for row in self.rows if not row["deferred"]),
                sum(row["calls"] for row in self.rows))

    def chosen(self, coll, size):
        """(algorithm, why) of most calls of that collective and size, or None."""
        rows = [row for row in self.rows if row["collective"] == coll and
                (row["bin_low"] is None or row["bin_low"] == row["bin_high"] == 0 or
                 row["bin_low"] <= size < row["bin_high"])]
        row = max(rows, key=lambda row: row["calls"], default=None)
        return row and (row["algorithm"], row["why"])

    def has_run(self, coll, plan):
        """Did the plan, with any parameters, serve most calls of each size?"""
        bins = {}
        for row in self.rows:
            if row["collective"] == coll:
                name = ":".join(word for word in row["algorithm"].split(":") if "=" not in word)
                bins.setdefault(row["bin_low"], []).append((row["calls"], name == plan))
        return bool(bins) and all(max(rows)[1] for rows in bins.values())
