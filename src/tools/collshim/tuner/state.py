"""The file of what was measured, from which a sweep goes on."""

import datetime
import json
import os
import platform
import shlex
import time

from collshim import machine
from collshim.failure import Failure
from collshim.files import read_json, write_whole
from collshim.texts import bytes_text

FORMAT = 4    # of the state: 2 knows the placement, 3 rows of calls, 4 imbalance


def describe_machine():
    return {"host": platform.node(), "cpu": machine.cpu_name(), "cores": os.cpu_count(),
            "system": "%s %s" % (platform.system(), platform.release())}


class State:
    """All that was measured, and the file that holds it."""

    def __init__(self, args, tools):
        self.path = args.out + ".state.json"
        self.data = {"collshim-tune": FORMAT, "library": tools.version,
                     "machine": describe_machine(),
                     "options": self.options(args), "date": datetime.date.today().isoformat(),
                     "minutes": args.minutes,
                     "command": shown_command(args, tools), "spent": 0.0, "shapes": [],
                     "failures": [], "is_finished": False}
        self.is_kept = not args.dry_run
        if args.resume:
            self.load(args)
        elif self.is_kept and os.path.exists(self.path) and not (read_state(self.path) or
                                                                 {}).get("is_finished"):
            raise Failure(2, "%s is there already: --resume goes on with it; else remove it" %
                          self.path)
        self.before = self.data["spent"]
        self.started = time.monotonic()
        self.data["is_finished"] = False
        self.write()

    @staticmethod
    def options(args):
        return {name: getattr(args, name) for name in ("mpirun", "colls", "sizes", "imbalance",
                                                       "repeats", "margin", "limit", "memory")}

    def load(self, args):
        old = read_state(self.path)
        if old is None:
            raise Failure(2, "--resume: %s: no such file, or not JSON, or no state of a sweep" %
                          self.path)
        if old.get("collshim-tune") != FORMAT:
            raise Failure(2, "%s is not a state of this version" % self.path)
        for name, what in (("library", "version"), ("machine", "machine"),
                           ("options", "set of options")):
            if old.get(name) != self.data[name]:
                raise Failure(2, "%s is of another %s: %s, here %s" % (
                    self.path, what, *differing(old.get(name), self.data[name])))
        for name, value in self.data.items():
            if type(old.get(name)) is not type(value):
                raise Failure(2, "%s is damaged: \"%s\" is missing or wrong; remove it to begin "
                              "anew" % (self.path, name))
        if args.minutes > old["minutes"]:
            for shape in old["shapes"]:
                shape.update(closed=[], left_out={})
        old["minutes"], old["command"] = args.minutes, self.data["command"]
        self.data = old

    def spent(self):
        return self.before + time.monotonic() - self.started

    def write(self):
        if not self.is_kept:
            return
        self.data["spent"] = round(self.spent(), 3)
        write_whole(self.path, json.dumps(self.data, indent=1) + "\n")


def read_state(path):
    """None: there is none."""
    state = read_json(path)
    return state if isinstance(state, dict) else None


def differing(old, new):
    """The part of both that is not alike, as text."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in new if old.get(name) != new[name]]
        old, new = ({name: data.get(name) for name in names} for data in (old, new))
    return json.dumps(old), json.dumps(new)


def shown_command(args, tools):
    words = ["collshim-tune", "sweep"]
    for text in args.mpirun:
        words += ["--mpirun", shlex.quote(text)]
    for text in args.imbalance:
        words += ["--imbalance", text]
    words += ["--minutes", "%g" % args.minutes, "--sizes", ",".join(map(bytes_text, args.sizes))]
    if args.colls != list(tools.info.collectives):
        words += ["--colls", ",".join(args.colls)]
    return " ".join(words)
