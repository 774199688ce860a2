"""Files of arrivals (docs/arrivals.md): read, put together call by call, and measured by seed 002,
3.3."""

import struct

MAGIC = b"CSARRIVE"
COLLS = ("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier",
         "bcast", "exscan", "gather", "gatherv", "reduce", "reduce_scatter",
         "reduce_scatter_block", "scan", "scatter", "scatterv")
OF_ROOT = {"bcast", "scatter", "scatterv"}     # each rank waits for the root
AT_ROOT = {"gather", "gatherv", "reduce"}      # the root waits for all
UP_TO = {"exscan", "scan"}                     # each rank waits for those below
HEAD = struct.Struct("<8s8I4Q40s64s")
HEAD_BYTES, RECORD = 256, struct.Struct("<BBBxi5Q")
CALL, COMM, CLOCK, END = 1, 2, 3, 4
DEFERRED = 1
MOST = 2 ** 62  # ns of a clock
UNKNOWN = 2 ** 64 - 1
BINS = 24  # of the histogram, on either side


class Unusable(Exception):
    """Why a file cannot be used."""


def signed(number):
    return number - (1 << 64) if number >> 63 else number


def text_of(raw):
    return raw.split(b"\0", 1)[0][:len(raw) - 1].decode("utf-8", "replace")


class File:
    """Of one rank. `trouble`: why it ends where it does, or ""."""

    def __init__(self, data):
        self.calls, self.comms, self.clocks = [], {}, []
        self.left_out, self.is_complete, self.trouble = 0, False, ""
        self.read_head(data)
        self.read_records(data)

    @classmethod
    def read(cls, path):
        try:
            with open(path, "rb") as file:
                return cls(file.read())
        except OSError as error:
            raise Unusable("it cannot be read: %s" % error.strerror)

    def read_head(self, data):
        if len(data) < HEAD_BYTES:
            raise Unusable("%d bytes are too few for a file of arrivals" % len(data))
        (magic, version, head, record, self.world, self.ranks, self.node, self.nodes, self.pid,
         self.job, self.clock, self.start, self.wall, boot, host) = HEAD.unpack_from(data)
        self.host = text_of(host)
        if magic != MAGIC:
            raise Unusable("it is no file of arrivals")
        if (version, head, record) != (1, HEAD_BYTES, RECORD.size):
            raise Unusable("it has version %d of the format, with records of %d bytes; known is 1, "
                           "with %d" % (version, record, RECORD.size))
        if (self.world >= self.ranks or self.ranks >= 2 ** 31 or self.nodes > self.ranks or
                (self.node >= self.nodes if self.nodes else self.node)):
            raise Unusable("its head is damaged: rank %d of %d, node %d of %d" % (
                self.world, self.ranks, self.node, self.nodes))

    def read_records(self, data):
        whole = (len(data) - HEAD_BYTES) // RECORD.size
        body = memoryview(data)[HEAD_BYTES:HEAD_BYTES + whole * RECORD.size]
        done = 0
        for number, record in enumerate(RECORD.iter_unpack(body), 1):
            wrong = self.take(record)
            if wrong:
                self.trouble = "record %d is damaged: %s" % (number, wrong)
                return
            done = number
            if self.is_complete:
                break
        rest = len(data) - HEAD_BYTES - done * RECORD.size
        if not self.is_complete:
            self.trouble = "it ends before the job did" + (
                ", in the midst of a record" if rest else "")
        elif rest:
            self.trouble = "%d bytes stand behind its end" % rest

    def take(self, record):
        """Returns the record's fault, or None."""
        kind, coll, flags, small, comm, count, size, arrived, left = record
        if kind == CALL:
            of = self.comms.get(comm)
            if flags & ~DEFERRED:
                return "unknown flags"
            if coll >= len(COLLS):
                return "no such collective"
            if of is None:
                return "a call on a communicator that was not recorded"
            is_rooted = COLLS[coll] in OF_ROOT or COLLS[coll] in AT_ROOT
            if small < -1 or small >= of[1] or (small < 0) == is_rooted:
                return "no such root"
            if not count:
                return "a call without a number"
            if left < arrived or left >= 2 ** 63:
                return "a call that ends before it begins"
            self.calls.append((comm, count, coll, flags, small, size, arrived, left))
        elif kind == COMM:
            rank, ranks = small & 0xffffffff, count & 0xffffffff
            if not ranks or ranks > self.ranks or rank >= ranks:
                return "a communicator of no possible size"
            if comm in self.comms:
                return "a communicator that was recorded before"
            self.comms[comm] = rank, ranks
        elif kind == CLOCK:
            offset = signed(count)
            if arrived > MOST or abs(offset) > MOST or size > MOST:
                return "a clock that is too far away"
            if self.clocks and arrived < self.clocks[-1][0]:
                return "a clock that goes back"
            self.clocks.append((arrived, offset, size))
        elif kind == END:
            if count != len(self.calls):
                return "calls are missing before its end"
            self.left_out, self.is_complete = size, True
        else:
            return "no such kind of record"
        return None

    def slope(self):
        (at, offset, _), (end, later, _) = self.clocks[0], self.clocks[-1]
        return at, offset, later - offset, end - at

    def at_rank_0(self, at):
        """A time of this file by rank 0's clock."""
        if not self.clocks:
            return at
        begin, offset, change, span = self.slope()
        return at + offset + (change * (at - begin) // span if span > 0 else 0)

    def drift(self):
        """How much faster rank 0's clock goes, ns in a second; 0: not known."""
        if len(self.clocks) < 2:
            return 0
        _, _, change, span = self.slope()
        return int(change * 10 ** 9 / span) if span else 0


class Files:
    """All ranks' of one job. `say(path, text)` is told what is wrong with a file."""

    def __init__(self, paths, say):
        self.files, self.unusable = [], 0
        for path in paths:
            try:
                file = File.read(path)
                if file.trouble:
                    say(path, file.trouble)
                self.check(file)
            except Unusable as why:
                say(path, str(why))
                self.unusable += 1
                continue
            self.files.append(file)
        self.files.sort(key=lambda file: file.world)
        self.look_at_nodes()

    def check(self, file):
        first = self.files[0] if self.files else file
        if (file.job, file.ranks) != (first.job, first.ranks):
            raise Unusable("it is of another job than the first file, and left out")
        if any(file.world == other.world for other in self.files):
            raise Unusable("its rank has a file already, and it is left out")

    def look_at_nodes(self):
        numbers, self.node = {}, []
        for file in self.files:
            key = ("node", file.node) if file.nodes else ("clock", file.clock)
            self.node.append(numbers.setdefault(key, len(numbers)))
        self.nodes = len(numbers)
        self.ranks = self.files[0].ranks if self.files else 0
        residuals = [clock[2] for file in self.files for clock in file.clocks]
        self.residual = max(residuals, default=0)
        self.least = min((one for one in residuals if one), default=0)
        self.left_out = sum(file.left_out for file in self.files)
        self.is_one_clock = (len({file.clock for file in self.files}) < 2 or
                             all(file.clocks for file in self.files))


class Call:
    """Of all ranks of its communicator. Times in ns after the first arrival, by its ranks; `file`:
    the numbers of their files."""

    def __init__(self, first, size, rows, files):
        self.comm, self.number, self.coll, flags, self.root, bytes_, _, _ = first
        self.name, self.is_deferred = COLLS[self.coll], bool(flags & DEFERRED)
        self.bytes = None if bytes_ == UNKNOWN else bytes_
        self.size = size
        times = [files[file].at_rank_0(call[6]) for _, file, call in rows]
        self.start = min(times)
        self.arrived = [time - self.start for time in times]
        self.left = [time + call[7] - call[6] for time, (_, _, call) in zip(self.arrived, rows)]
        self.file = [file for _, file, _ in rows]

    def waited(self):
        """What each rank waits for those that it depends on."""
        last, below, waits = max(self.arrived), 0, []
        for rank, (came, left) in enumerate(zip(self.arrived, self.left)):
            if self.name in OF_ROOT:
                until = self.arrived[self.root]
            elif self.name in AT_ROOT:
                until = last if rank == self.root else came
            else:
                until = below if self.name in UP_TO else last
            waits.append(min(max(until - came, 0), left - came))
            below = max(below, came)
        return waits


class Walk:
    """Calls by communicator, and then in their order."""

    def __init__(self, files):
        self.whole, self.partial, self.differ, self.calls = 0, 0, 0, []
        rows = {}
        for number, file in enumerate(files.files):
            for call in file.calls:
                rank = file.comms[call[0]][0]
                rows.setdefault(call[:2], []).append((rank, number, call))
        for key in sorted(rows):
            self.put_together(files.files, sorted(rows[key]))

    def put_together(self, files, rows):
        _, number, first = rows[0]
        size = files[number].comms[first[0]][1]
        is_alike = len({rank for rank, _, _ in rows}) == len(rows) and all(
            (call[2], call[4]) == (first[2], first[4]) and files[file].comms[call[0]][1] == size
            for _, file, call in rows)
        if len(rows) > size or not is_alike:
            self.differ += 1
        elif len(rows) < size:
            self.partial += 1
        else:
            self.whole += 1
            self.calls.append(Call(first, size, rows, files))


def size_bin(size):
    """As the report bins: 0, then powers of two; None: not known."""
    return None if size is None else size.bit_length()


def spread(times):
    """Mean distance from the mean, and from the first to the last."""
    mean = sum(times) / len(times)
    return sum(abs(time - mean) for time in times) / len(times), max(times) - min(times)


def time_bin(away):
    size, end, number = abs(away), 500, 0
    while size > end and number < BINS:
        number += 1
        end *= 2
    return -number if away < 0 else number


class Measures:
    SUMS = ("calls", "deferred", "ranks", "delta", "omega", "iota", "waiting", "worst",
            "first_delta", "first_omega", "last_delta", "last_omega")

    def __init__(self, files, calls):
        count = len(files.files)
        self.node = files.node
        self.sums = {}
        self.histogram = [0] * (2 * BINS + 1)
        self.first, self.last = [0] * count, [0] * count
        self.node_first, self.node_last = [0] * count, [0] * count
        for call in calls:
            self.add(call)

    def add(self, call):
        key = call.coll, -1 if call.bytes is None else size_bin(call.bytes)
        sums = self.sums.setdefault(key, dict.fromkeys(self.SUMS, 0))
        delta, omega = spread(call.arrived)
        inside = [left - came for came, left in zip(call.arrived, call.left)]
        for name, value in (("calls", 1), ("deferred", call.is_deferred), ("ranks", call.size),
                            ("delta", delta), ("omega", omega),
                            ("iota", sum(inside) / call.size),
                            ("waiting", sum(call.waited()) / call.size)):
            sums[name] += value
        sums["worst"] = max(sums["worst"], omega)
        self.add_nodes(call, sums)

    def add_nodes(self, call, sums):
        by_node = {}
        for came, file in zip(call.arrived, call.file):
            by_node.setdefault(self.node[file], []).append((came, file))
        firsts, lasts = [], []
        for rows in by_node.values():
            mean = sum(came for came, _ in rows) / len(rows)
            for came, _ in rows:
                self.histogram[BINS + time_bin(came - mean)] += 1
            early, late = min(rows, key=lambda row: row[0]), max(rows, key=lambda row: row[0])
            self.node_first[early[1]] += 1
            self.node_last[late[1]] += 1
            firsts.append(early[0])
            lasts.append(late[0])
        self.first[call.file[call.arrived.index(min(call.arrived))]] += 1
        self.last[call.file[call.arrived.index(max(call.arrived))]] += 1
        for name, times in (("first", firsts), ("last", lasts)):
            delta, omega = spread(times)
            sums[name + "_delta"] += delta
            sums[name + "_omega"] += omega


def classes(measures):
    """For each collective and size the means, in seconds."""
    for (coll, number), sums in sorted(measures.sums.items(),
                                       key=lambda item: (item[0][0], item[0][1] % 100)):
        low = None if number < 0 else 1 << number - 1 if number else 0
        calls = sums["calls"]

        def mean(name):
            return round(sums[name] / calls / 1e9, 9)

        yield {"collective": COLLS[coll], "bytes_low": low,
               "bytes_last": None if low is None else 2 * low - 1 if low else 0,
               "calls": calls, "deferred": sums["deferred"], "ranks": sums["ranks"] / calls,
               "in_call": mean("iota"), "waiting": mean("waiting"),
               "moving": round(mean("iota") - mean("waiting"), 9),
               "delta": mean("delta"), "omega": mean("omega"), "worst": sums["worst"] / 1e9,
               "first_delta": mean("first_delta"), "first_omega": mean("first_omega"),
               "last_delta": mean("last_delta"), "last_omega": mean("last_omega")}


def measured(files, least=0):
    """All of it, as collshim-report --json prints it."""
    walk = Walk(files)
    measures = Measures(files, walk.calls)
    rank_files = []
    for number, file in enumerate(files.files):
        clock = file.clocks[0] if file.clocks else (None, None, None)
        rank_files.append({
            "rank": file.world, "node": files.node[number], "host": file.host,
            "calls": len(file.calls), "left_out": file.left_out, "complete": file.is_complete,
            "offset_ns": clock[1], "residual_ns": clock[2], "drift_ns_per_s": file.drift(),
            "first": measures.first[number], "last": measures.last[number],
            "first_on_node": measures.node_first[number],
            "last_on_node": measures.node_last[number]})
    return {"ranks": files.ranks, "files": len(files.files), "nodes": files.nodes,
            "one_clock": files.is_one_clock, "residual_ns": files.residual,
            "calls": walk.whole, "partial": walk.partial, "differ": walk.differ,
            "left_out": files.left_out, "min_lat_ns": least or files.least or None,
            "classes": list(classes(measures)), "rank_files": rank_files,
            "histogram": measures.histogram}, walk.calls


def lateness(files, calls, most=450):
    """The report's "lateness" of the communicator with the most arrivals, or None."""
    by_comm = {}
    for call in calls:
        by_comm.setdefault(call.comm, []).append(call)
    if not by_comm:
        return None
    chosen = max(by_comm.values(), key=lambda these: len(these) * these[0].size)
    taken = chosen if len(chosen) <= most else [
        chosen[i * len(chosen) // most] for i in range(most)]
    taken.sort(key=lambda call: call.start)
    begin = min(call.start for call in calls)
    return {"ranks": [files.files[file].world for file in taken[0].file],
            "calls": [{"collective": call.name, "deferred": call.is_deferred,
                       "at": (call.start - begin) / 1e9, "last": max(call.arrived) / 1e9}
                      for call in taken],
            "late_us": [[round(call.arrived[rank] / 1000, 1) for call in taken]
                        for rank in range(taken[0].size)]}
