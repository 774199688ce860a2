"""collshim-tune app: a program is run under the library, which learns from its calls."""

import os
import re
import shutil
import statistics
import time

from collshim import jobs
from collshim.failure import Failure
from collshim.info import Info
from collshim.report import Report
from collshim.said import our_lines
from collshim.texts import minutes_text, printable, read_bytes
from collshim.tuner import say
from collshim.tuner.jobs import job_path, under_library
from collshim.tuner.shapes import explained

MOST_RUNS = 5    # where none is asked for
# Calls of a class after which it is decided, mostly: windows of trials and the epochs behind them.
ENOUGH_CALLS = 500


class Rule:
    """A line of a learnt block (src/select/learnt.c: put_entry)."""

    FORM = re.compile(r' *- \{(collective: .*?), use: "([^"]*)".*\} # (\d+) ns, host (\d+) ns, '
                      r"(\d+) calls")

    def __init__(self, conditions, use, *numbers):
        self.conditions, self.use = conditions, use
        self.ns, self.host_ns, self.calls = map(int, numbers)
        self.facts = dict(pair.split(": ") for pair in conditions.split(", ") if ": " in pair)

    def __str__(self):
        return "%s: %s %.1f us, the MPI %.1f us, %d calls" % (
            self.conditions.replace("collective: ", ""), self.use, self.ns / 1e3,
            self.host_ns / 1e3, self.calls)

    def without(self, info):
        """The algorithm that would serve without the rule."""
        facts, call = self.facts, self.facts["collective"]
        if info.collectives[call].has_size:
            call += ":%d" % max(read_bytes(facts.get("bytes", "0-inf").split("-")[0]), 1)
        more = ["--wire", facts["wire"]] if "wire" in facts else []
        shape = {"ranks": facts["ranks"], "nodes": facts["nodes"],
                 "placement": facts.get("placement")}
        return explained(info, shape, call, *more)["chosen"]["algorithm"]


def read_text(path):
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def learnt(path):
    """{(number of the block, conditions): Rule}"""
    found, block = {}, 0
    for line in read_text(path).splitlines():
        block += line.lstrip().startswith("- name:")
        match = Rule.FORM.match(line)
        if match:
            found[block, match[1]] = Rule(*match.groups())
    return found


def block_text(path, number):
    parts = re.split(r"^(?= *- name:)", read_text(path), flags=re.M)
    return re.split(r"^(?=\S)", parts[number], flags=re.M)[0].rstrip()


def program_at(words, name):
    """Where the program begins in a launcher's command."""
    if ":" in words:
        raise Failure(2, "several programs in one command (':') cannot be run")
    if not shutil.which(words[0]):
        raise Failure(2, "no such launcher: " + words[0])
    for at, word in enumerate(words[1:], 1):
        if word == name or (name is None and shutil.which(word)):
            return at
    raise Failure(2, "no word behind %s %s: --program WORD says where it begins" % (
        words[0], "is " + name if name else "is a program here"))


def check_file(out, info):
    if os.path.exists(out):
        if not os.access(out, os.R_OK | os.W_OK):
            raise Failure(2, "--out: %s cannot be read and written" % out)
        try:
            info.run("--check", out)
        except Failure as failure:
            raise Failure(2, "--out: " + str(failure).partition(out + ": ")[2].splitlines()[0])


class Runs:
    def __init__(self, args, tools):
        self.args, self.tools = args, tools
        self.at = program_at(args.words, args.program)
        self.info = Info(tools.info.path, os.environ.get("COLLSHIM_TUNING", "builtin"))
        self.times = {"the MPI": [], "the library": []}
        self.report = None
        self.started = time.monotonic()
        self.first = learnt(args.out)

    def run(self, number, who):
        """False: the time was up."""
        path, command = job_path(self.args.out), list(self.args.words)
        environment = dict(self.tools.environment(), COLLSHIM_DISABLE="1")    # if it is preloaded
        if who == "the library":
            settings = {"ADAPT": "on", "ADAPT_FILE": self.args.out, "REPORT": path,
                        "TUNING": self.info.tuning}
            del environment["COLLSHIM_DISABLE"]
            command[self.at:self.at] = under_library(self.tools, settings)
        self.args.stopped = "; %s; the run under way leaves nothing" % self.state()
        left = 60 * self.args.minutes - (time.monotonic() - self.started)
        done = jobs.run_job(command, path, environment, max(left, 0))
        for line in dict.fromkeys(our_lines(done.said)):
            say("run %d: %s" % (number, line))
            if "[unserved:job]" in line:
                raise Failure(1, "run %d: the library serves nothing there; %s" % (number,
                                                                                   self.state()))
        if done.reason:
            say("run %d under %s: %s (--minutes); what earlier runs have learnt stays" % (
                number, who, done.reason))
        elif done.code != 0:
            raise Failure(1, "run %d under %s failed: %s; %s; %s" % (
                number, who, done.words(), self.state(),
                "try the command by hand" if who == "the MPI" else
                "docs/find-a-bug.md has what to do if it only fails so"))
        else:
            self.times[who].append(done.seconds)
        if done.result:
            self.report = Report(done.result)
        return not done.reason

    def state(self):
        return "learnt rules in %s: %d" % (self.args.out, len(learnt(self.args.out)))

    def run_all(self):
        """The MPI and the library by turns, until a run changes no verdict."""
        before = self.first
        for number in range(1, (self.args.runs or MOST_RUNS) + 1):
            if not self.run(number, "the MPI") or not self.run(number, "the library"):
                return
            now = learnt(self.args.out)
            new = [rule for key, rule in now.items()
                   if key not in before or vars(before[key]) != vars(rule)]
            say("run %d: the MPI %.2f s, library %.2f s, learnt: %s" % (
                number, self.times["the MPI"][-1], self.times["the library"][-1],
                len(new) or "nothing new"))
            for rule in new:
                say("  %s" % rule)
            is_same = {key: rule.use for key, rule in before.items()} == {
                key: rule.use for key, rule in now.items()}
            if is_same and not self.args.runs:
                return
            before = now

    def enough_text(self):
        """How long a run would have to be to decide something."""
        rows = self.report.rows if self.report else []
        calls = {}
        for row in rows:
            key = row["collective"], row["bin_low"]
            calls[key] = calls.get(key, 0) + row["calls"]
        most = max(calls.values(), default=0)
        if not most:
            return "the program made no collective call that the library knows"
        seconds = self.times["the library"][-1] * ENOUGH_CALLS / most
        return ("its most frequent call came %d times, and about %d decide: such a run would take "
                "%s; or none may be tried (docs/tuning.md, Live choice)" % (
                    most, ENOUGH_CALLS, minutes_text(max(seconds, 1))))

    def tell_end(self):
        now = learnt(self.args.out)
        decided = {key: rule for key, rule in now.items()
                   if key not in self.first or vars(self.first[key]) != vars(rule)}
        for who, seconds in self.times.items():
            if seconds:
                print("run times under %s: %s s" % (who, ", ".join("%.2f" % one
                                                                   for one in seconds)))
        if all(self.times.values()):
            host, ours = (statistics.median(seconds) for seconds in self.times.values())
            print("the MPI / library, of the medians: %.2f" % (host / ours))
        is_used = self.report and any(row["why"].startswith("learnt") for row in self.report.rows)
        if not decided and not is_used:
            say("nothing was to be decided: " + (
                "no run under the library came to its end" if not self.times["the library"]
                else self.enough_text()))
            return 3
        self.tools.info.run("--check", self.args.out)
        for number in sorted({block for block, _ in decided}):
            print(printable(block_text(self.args.out, number)))
        moved = 0
        for rule in decided.values():
            before = rule.without(self.info)
            moved += before != rule.use
            print("%s; %s" % (rule, "as without the rule" if before == rule.use else
                              "in place of " + before))
        print("%d of %d classes go another way; %.3f s less than by the MPI in these calls; "
              "use it: COLLSHIM_ADAPT_FILE=%s" % (
                  moved, len(decided), sum((rule.host_ns - rule.ns) * rule.calls
                                           for rule in decided.values()) / 1e9, self.args.out))
        return 0


def tune(args, tools):
    check_file(args.out, tools.info)
    runs = Runs(args, tools)
    runs.run_all()
    return runs.tell_end()
