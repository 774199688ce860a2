"""collshim-info: what the library has and would do, as it says to programs
(man/collshim-info.1)."""

import functools
import json
import math
import os
import subprocess
import tempfile

from collshim.failure import Failure


class Param:
    """A parameter of an algorithm; sizes in bytes."""

    def __init__(self, data):
        self.name, self.default, self.low = data["name"], data["default"], data["low"]
        self.high = math.inf if data["high"] is None else data["high"]


class Algorithm:
    def __init__(self, data):
        self.name, self.between, self.is_plan = data["name"], data["between"], data["is_plan"]
        self.needs = set(data["needs"])
        self.params = [Param(param) for param in data["parameters"]]


class Collective:
    def __init__(self, data):
        self.name, self.variable = data["name"], data["variable"]
        self.is_rooted, self.reduces = data["rooted"], data["reduces"]
        # Not all ranks know the size: one answer for all sizes.
        self.has_size = data["size_known"] and self.name != "barrier"
        self.is_size_unknown = not data["size_known"]
        # Blocks of several sizes: all ranks know them, or each its own.
        self.has_skew = data["has_skew"]
        self.is_uneven = self.has_skew or self.is_size_unknown
        self.algorithms = {entry["name"]: Algorithm(entry) for entry in data["algorithms"]}

    def has_blocks(self):
        """Is its size one block's, of which every rank gets all, or one of each?"""
        return self.has_size and not self.is_rooted and not self.reduces


class Info:
    """One collshim-info, whatever is set here; tuning: a file in place of the built-in rules."""

    def __init__(self, path, tuning="builtin"):
        self.path, self.tuning = path, tuning

    def run(self, *words):
        try:
            done = subprocess.run([self.path, *words], env=self.environment(),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise Failure(2, "%s: %s" % (self.path, error.strerror))
        if done.returncode != 0:
            raise Failure(1, "%s %s: %s" % (self.path, " ".join(words),
                                            done.stderr.strip() or done.stdout.strip()))
        return done.stdout

    def ask(self, *words):
        """The JSON object that it answers with."""
        text = self.run(*words, "--json")
        try:
            data = json.loads(text)
            if isinstance(data["collshim"], str):
                return data
        except (ValueError, KeyError, TypeError):
            pass
        raise Failure(2, "%s is no collshim-info: it does not answer as one" % self.path)

    @functools.cached_property
    def _told(self):
        return self.ask("--algorithms")

    @property
    def version(self):
        """"collshim 0.1.0" """
        return "collshim " + self._told["collshim"]

    @functools.cached_property
    def collectives(self):
        """{name: Collective}, in the library's order."""
        return {data["name"]: Collective(data) for data in self._told["collectives"]}

    def explain(self, call, *options):
        """Of a call as "bcast:8K": what stands in the man page."""
        return self.ask("--explain", call, *options)

    def accepts(self, text):
        """Is that a tuning file for this version?"""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            try:
                self.run("--check", file.name)
            except Failure:
                return False
        return True

    def environment(self):
        """What is asked is the library, not what somebody has set: no variable of it counts."""
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("COLLSHIM_")}
        return dict(clean, COLLSHIM_TUNING=self.tuning)
