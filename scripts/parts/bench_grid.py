"""What scripts/bench has measured: cells, and the file that they are in."""

import json

from collshim.failure import Failure
from collshim.files import write_whole

FORMAT = 2    # 1 had the length of rows in its options, that of rooted collectives only
KEY = ("mpi", "shape", "rate", "algo", "collective", "size", "root", "distribution", "row")


def cell_key(cell):
    return tuple(cell[name] for name in KEY)


class Grid:
    """The cells by key, and the file they go to."""

    def __init__(self, data):
        self.data = data
        self.cells = {cell_key(cell): cell for cell in data["cells"]}

    def cell(self, **key):
        key = {name: key[name] for name in KEY}
        found = self.cells.get(tuple(key.values()))
        if found is None:
            found = dict(key, runs=[])
            self.cells[tuple(key.values())] = found
            self.data["cells"].append(found)
        return found

    def has(self, job, coll, size, ways):
        """Has the job's repeat been done for that collective and size, for every root,
        distribution and row?"""
        cells = [self.cells.get((job.mpi, job.shape, job.rate, job.algo, coll, size, *way))
                 for way in ways]
        return all(cell and ("skipped" in cell or any(run["repeat"] == job.repeat
                                                      and run.get("side") == job.side
                                                      for run in cell["runs"])) for cell in cells)

    def write(self, path):
        write_whole(path, json.dumps(self.data, indent=1) + "\n")


def load(path):
    try:
        with open(path) as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(2, "%s: %s" % (path, error))
    if data.get("collshim-bench-grid") == 1:
        add_rows(data)
    if data.get("collshim-bench-grid") != FORMAT:
        raise Failure(2, "%s: not a file of scripts/bench" % path)
    return data


def add_rows(data):
    """Makes FORMAT of 1."""
    row = data["options"].pop("throughput")
    for cell in data["cells"]:
        cell["row"] = 1 if cell["root"] is None else row
    data["options"]["rows"] = sorted({1, row})
    data["collshim-bench-grid"] = FORMAT
