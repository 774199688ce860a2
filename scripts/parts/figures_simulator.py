"""collshim-sim, as scripts/figures asks it, and tables of its times."""

import concurrent.futures
import re
import subprocess
import textwrap
import threading

from collshim.failure import Failure
from collshim.texts import speaker

SETS = ("hdr-like", "10gbe-like")
NODE_COST = ("copy", "reduce", "bus", "flag")
FACTORS = (1, 0.5, 2)  # of these costs
say = speaker("figures")

UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Simulator:
    """Runs collshim-sim, several at a time; what was asked for before is not run again."""

    def __init__(self, args):
        self.program, self.memory = args.sim, args.memory
        self.pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
        self.asked, self.done, self.lock = {}, 0, threading.Lock()
        self.models = self.read_models()

    def read_models(self):
        """{name: (where its numbers come from, {key: value as it is written})}"""
        done = subprocess.run([self.program, "--list"], stdout=subprocess.PIPE, text=True)
        found = re.findall(r"^  (\S+): (.*)\n    (L=\S+)$", done.stdout, re.M)
        if not {name for name, origin, keys in found}.issuperset(SETS):
            raise Failure(1, "%s --list: exit code %d, expected the models %s" % (
                self.program, done.returncode, " and ".join(SETS)))
        return {name: (origin, dict(word.split("=") for word in keys.split(","))) for name, origin,
                keys in found}

    def run(self, words):
        done = subprocess.run([self.program] + words, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        with self.lock:
            self.done += 1
            say("%d of %d: %s" % (self.done, len(self.asked),
                                  " ".join(words[:words.index("--memory")])))
        if done.returncode == 2 and "too large" in done.stderr:
            return None
        if done.returncode != 0:
            raise Failure(1, "%s: exit code %d: %s" % (" ".join(words), done.returncode,
                                                       done.stderr.strip()))
        return done.stderr

    def times(self, words):
        said = self.run(words)
        return said and [int(time) * 1e-12 for time in
                         re.findall(r"simulated time exactly (\d+) ps$", said, re.M)]

    def ask(self, algorithm, models, nodes, ppn, size, *more):
        """A future: seconds for each model, or None where the plans need too much memory."""
        return self.submit(self.times, algorithm, models, nodes, ppn, size, *more)

    def ask_words(self, algorithm, models, nodes, ppn, size, *more):
        """A future: what --verbose says, or None as above."""
        return self.submit(self.run, algorithm, models, nodes, ppn, size, *more)

    def submit(self, run, algorithm, models, nodes, ppn, size, *more):
        words = [algorithm, "--nodes", str(nodes), "--ppn", str(ppn), "--bytes",
                 str(size)] + list(more)
        key = tuple(words + models)
        words += ["--memory", self.memory, "--verbose"]
        for model in models:
            words += ["--model", model]
        with self.lock:
            if key not in self.asked:
                self.asked[key] = self.pool.submit(run, words)
            return self.asked[key]

    def varied(self, factor, name):
        """The parameters, built-in ones and perhaps changed ones behind, with other costs on a
        node."""
        keys = self.models[name.partition(",")[0]][1]
        return ",".join([name] + ["%s=%g" % (key, float(keys[key]) * factor) for key in NODE_COST])

    def ask_set(self, name, *call):
        """A future for one set, with each factor of the node's costs."""
        return self.ask(call[0], [self.varied(factor, name) for factor in FACTORS], *call[1:])

    def ask_sets(self, *call):
        """A future for each set with each factor of the node's costs."""
        models = [self.varied(factor, name) for name in SETS for factor in FACTORS]
        return self.ask(call[0], models, *call[1:])


def times_of(future, name):
    """Of the set, for each factor."""
    found = future.result()
    if not found:
        raise Failure(2, "--memory is too little for a simulation that has no closed form here")
    at = SETS.index(name) * len(FACTORS)
    return found[at:at + len(FACTORS)]


# --- tables ---------------------------------------------------------------------------------------

def digits(value):
    """Two of them, three from 10 on."""
    return "%.*f" % (0 if value >= 99.5 else 1 if value >= 0.995 else 2, value)


def time_text(seconds):
    unit = next((unit for unit in UNITS if seconds >= UNITS[unit]), "ns")
    value = seconds / UNITS[unit]
    return "%.*f %s" % (2 if value < 9.995 else 1 if value < 99.95 else 0, value, unit)


def size_text(size):
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if size and size % (1 << shift) == 0:
            return "%d %s" % (size >> shift, unit)
    return "%d B" % size


def ratio_text(above, below):
    """Of times as they are, with half and with double node costs."""
    ratios = [digits(a / b) for a, b in zip(above, below)]
    return ratios[0] if len(set(ratios)) == 1 else "%s (%s, %s)" % tuple(ratios)


def print_table(head, rows):
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths]] + rows:
        print("| " + " | ".join(word.ljust(width) for word, width in zip(row, widths)) + " |")
    print()


def print_text(text):
    print(textwrap.fill(" ".join(text.split()), 118, break_on_hyphens=False) + "\n")


def print_parameters(name, origin, keys):
    text = "%s (%s): %s" % (name, origin, ", ".join("%s=%s" % pair for pair in keys.items()))
    print(textwrap.fill(text, 118, initial_indent="- ", subsequent_indent="  ",
                        break_on_hyphens=False))


def print_title(title, command, text):
    print("### %s\n" % title)
    print("Simulated with LogGP, not measured. Command: `%s`\n" % command)
    print_text(text)


def print_sets(sim, names=SETS):
    print_text("""Times are simulated with these parameters (seconds, and seconds per byte).
                  Where three ratios stand the second is with half the node's costs (%s), the
                  third with double.""" %
               ", ".join(NODE_COST))
    for name in names:
        built_in, comma, changed = name.partition(",")
        origin, keys = sim.models[built_in]
        print_parameters(name, origin, {**keys, **dict(word.split("=")
                                                       for word in changed.split(",") if word)})
    print()
