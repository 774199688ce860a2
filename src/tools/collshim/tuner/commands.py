"""The commands of collshim-tune."""

import json
import math
import os
import signal
import sys
import tempfile

from collshim import machine
from collshim.failure import Failure
from collshim.files import write_whole
from collshim.texts import minutes_text, printable
from collshim.tuner import app, plots, say
from collshim.tuner.arguments import USAGE, parse, read_colls
from collshim.tuner.jobs import remove_stale, run_job
from collshim.tuner.rules import WRITTEN, tuning_text, write_tuning
from collshim.tuner.scores import decide
from collshim.tuner.shapes import is_cyclic, learn_pattern, learn_shape, shape_text
from collshim.tuner.state import State
from collshim.tuner.sweep import SHARES, Sweep
from collshim.tuner.tools import PROBE_MODELS, PROBE_SKEW, Tools


class Stopped(Exception):
    pass


def check_folder(out, option="--out"):
    """A file that cannot be written is known before anything is measured."""
    folder = os.path.dirname(out)
    if not os.path.isdir(folder):
        raise Failure(2, "%s: no such folder: %s" % (option, folder))
    if not os.access(folder, os.W_OK):
        raise Failure(2, "%s: %s cannot be written to" % (option, folder))
    if os.path.exists(out) and not os.path.isfile(out):
        raise Failure(2, "%s: %s is there and is no plain file" % (option, out))


def check_out(args):
    """Nothing that somebody else wrote is overwritten."""
    check_folder(args.out)
    if os.path.exists(args.out):
        try:
            with open(args.out) as file:
                is_ours = file.readline().startswith(WRITTEN)
        except (OSError, UnicodeDecodeError):
            is_ours = False
        if not is_ours:
            raise Failure(2, "--out: %s is there and was not written by collshim-tune" % args.out)


def learn_shapes(args, tools, state):
    """The shapes, by first jobs unless the state has them."""
    for mpirun in args.mpirun:
        if any(shape["mpirun"] == mpirun for shape in state.data["shapes"]):
            continue
        say("a first short job: " + mpirun)
        shape = learn_shape(tools, mpirun, args.out, 60 + 60 * args.minutes - state.spent())
        say("%s: %d ranks, %s" % (shape_text(shape), shape["ranks"], shape["mpi"]))
        for other in state.data["shapes"]:
            if (shape_text(other), other["ranks"]) == (shape_text(shape), shape["ranks"]):
                raise Failure(2, "--mpirun: \"%s\" and \"%s\" start the same shape" %
                              (other["mpirun"], mpirun))
        shape["patterns"] = {}
        for pattern in args.imbalance:
            name = learn_pattern(tools, shape, pattern, args.out, 60)
            shape["patterns"][pattern] = name
            say("%s: %s is %s imbalance%s" % (shape_text(shape), pattern, name, "" if name !=
                                              "balanced" else ": not measured further"))
        state.data["shapes"].append(dict(shape, runs=[], banned={}, closed=[], said=[],
                                         left_out={}, loggp=None))
        state.write()


NO_VERBS = 3    # exit code of collshim-bench --wire ib


def measure_loggp(args, tools, state, shape, seconds):
    """Once for each shape; only those of several nodes, block placed, go into models."""
    if shape["loggp"] or "loggp" in shape["closed"] or shape["nodes"] == 1 or is_cyclic(shape):
        return
    if seconds < 4 * shape["startup"]:
        say("%s: no time for LogGP parameters" % shape_text(shape))
        return
    say("%s: LogGP parameters" % shape_text(shape))
    for key, wire in (("loggp", "host"), ("loggp_ib", "ib")):
        done = run_job(tools, shape["mpirun"], None, [shape["bench"], "--loggp", "--wire", wire,
                                                      "-t", "0.2", "--repeat", "3"], args.out,
                       max(seconds / 2, 30))
        if done.code == 0 and done.result and "fit_error" in done.result:
            shape[key] = {name: done.result[name] for name in ("parameters", "fit_error")}
        elif wire != "ib" or done.code != NO_VERBS:
            break
    else:
        shape["closed"].append("loggp")
        state.write()
        return
    text = "%s: LogGP parameters: %s" % (shape_text(shape), done.words())
    state.data["failures"].append(text)
    shape["closed"].append("loggp")
    state.write()
    if not args.keep_going:
        raise Failure(1, "a job failed: %s (--resume goes on without it)" % text)
    say("a job failed: " + text)


def explain_plan(args, sweeps):
    """--dry-run: what would be measured, and what it would take."""
    for number, sweep in enumerate(sweeps):
        shape = sweep.shape
        sweep.ends = sweep.began + 60 * args.minutes / len(sweeps)
        sweep.set_case_seconds()
        items = sweep.items("coarse")
        seconds = sum(sweep.estimate(item, "coarse") for item in items)
        longest = max(len(sweep.all_candidates(question)) for question in sweep.questions)
        seconds += longest * shape["startup"]
        print(printable("%s, %d ranks, %s: %s" % (shape_text(shape), shape["ranks"], shape["mpi"],
                                                  shape["mpirun"])))
        for coll in args.colls:
            print("  %s: %s" % (coll, ", ".join(sweep.candidates[coll]) or "nothing but the MPI"))
        print("  coarse: %d cases of about %g s in %d or more jobs, about %s; the best again, %d "
              "times, in what is left of %s" % (sum(len(item.question.cells) for item in items),
                         sweep.case_seconds("coarse"), longest,
                      minutes_text(seconds), args.repeats,
                      minutes_text(60 * args.minutes / len(sweeps))))


def sweep_all(args, tools):
    args.colls = read_colls(args.colls, tools.info.collectives)
    check_out(args)
    if args.svg:
        check_folder(args.svg, "--svg")
    remove_stale(args.out)
    state = State(args, tools)
    tell_busy()
    try:
        learn_shapes(args, tools, state)
    except Failure:
        if state.is_kept and not args.resume:
            os.unlink(state.path)    # nothing in it
        raise
    knows_skew = tools.info.accepts(PROBE_SKEW)
    shapes = [next(shape for shape in state.data["shapes"] if shape["mpirun"] == mpirun)
              for mpirun in args.mpirun]
    sweeps = [Sweep(args, tools, state, shape, knows_skew, "%d of %d" % (number + 1, len(shapes)))
              for number, shape in enumerate(shapes)]
    if args.dry_run:
        explain_plan(args, sweeps)
        return 0
    for number, sweep in enumerate(sweeps):
        sweep.began = state.spent()
        share = max(60 * args.minutes - sweep.began, 0) / (len(sweeps) - number)
        measure_loggp(args, tools, state, sweep.shape, share * SHARES["loggp"])
        sweep.run(sweep.began + share)
    has_models = tools.info.accepts(PROBE_MODELS)
    write_tuning(tuning_text(sweeps, args, tools, state, has_models), args, tools)
    state.data["is_finished"] = True
    state.write()
    if args.svg:
        plots.write(args.svg, args, sweeps)
    is_decided = tell_end(args, sweeps, state, has_models)
    return 1 if state.data["failures"] else 0 if is_decided else 3


def minutes_needed(args, sweeps):
    """A guess, for a sweep that has decided nothing: what its first wave lacks, which has a part of
    the time; or twice as long."""
    lacking = sum(sweep.estimate(item, "coarse") for sweep in sweeps
                  for item in sweep.items("coarse"))
    return math.ceil(args.minutes + max(lacking / SHARES["coarse"] / 60, args.minutes))


def tell_end(args, sweeps, state, has_models):
    """Was anything decided?"""
    if not has_models:
        say("this collshim-info knows no section `models`: it is left out")
    is_decided = False
    for sweep in sweeps:
        answers = [decide(sweep, question, args.margin) for question in sweep.questions]
        won = [candidate for candidate, _, _, is_open in answers if candidate != "host" and
               not is_open]
        say("%s: ours at %d of %d questions, not decided at %d" % (
            shape_text(sweep.shape), len(won), len(answers),
            sum(is_open for _, _, _, is_open in answers)))
        is_decided = is_decided or not all(is_open for _, _, _, is_open in answers)
    for text in state.data["failures"]:
        say("failed: " + text)
    if not os.stat(args.out).st_mode & 0o044:
        say("only you can read it: chmod a+r, before jobs of other users are to use it")
    if not is_decided:
        minutes = minutes_needed(args, sweeps)
        say("NOTHING WAS DECIDED: this needs about %d minutes (--minutes %d --resume goes on); "
            "until then the file says what the built-in rules do" % (minutes, minutes))
    say("100 %%  %s after %s: %s (what was measured: %s, which only --resume needs)" % (
        "written" if not state.data["failures"] else "written, with failures",
        minutes_text(state.spent()), args.out,
        state.path))
    return is_decided


def tune_app(args, tools):
    check_folder(args.out)
    remove_stale(args.out)
    return app.tune(args, tools)


def loggp(args, tools):
    if args.out:
        check_folder(os.path.abspath(args.out))
    tell_busy()
    out = os.path.abspath(args.out) if args.out else os.path.join(tempfile.gettempdir(),
                                                                  "collshim-tune")
    shape = learn_shape(tools, args.mpirun[0], out, 120)
    done = run_job(tools, args.mpirun[0], None,
                   [shape["bench"], "--loggp", "--wire", args.wire or "host"], out, 600)
    if done.code == 3:
        raise Failure(3, "no verbs: " + done.words())
    if done.code != 0 or not done.result or not done.result.get("complete"):
        raise Failure(1, "the job failed: " + done.words())
    if args.out:
        write_whole(out, json.dumps(done.result, indent=1) + "\n")
    print("%s, %d ranks, %s" % (shape_text(shape), shape["ranks"], shape["mpi"]))
    for level in done.result["levels"]:
        print("%s: ranks %d and %d; %s; fit error %.0f %%" % (
            {"inter": "between nodes", "intra": "within a node"}[level["level"]], *level["ranks"],
            ", ".join("%s %.4g" % (name, level[name]) for name in ("L", "os", "or", "g", "G", "f")),
            100 * level["fit_error"]))
    print("parameters: " + done.result["parameters"])
    return 0


def stop(number, frame):
    raise Stopped(number)


def do_command(args, here):
    if args.help:
        print(USAGE, end="")
        return 0
    tools = Tools(args, here)
    if args.version:
        print("collshim-tune (%s)" % tools.version)
        return 0
    return {"app": tune_app, "loggp": loggp, "sweep": sweep_all}[args.command](args, tools)


def main(argv, here):
    """here: the folder of the program."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:    # nohup's
            signal.signal(number, stop)
    args = None
    try:
        args = parse(argv)
        code = do_command(args, here)
        if sys.stdout:
            # Else a pipe that closes or a full disk would be the interpreter's traceback.
            sys.stdout.flush()
        return code
    except Failure as failure:
        say(str(failure))
        return failure.code
    except OSError as error:
        say("%s: %s" % (error.filename or "error", error.strerror))
        if sys.stdout:
            os.dup2(os.open(os.devnull, os.O_WRONLY),
                    sys.stdout.fileno())    # what is left is not tried again
        return 1
    except Stopped:
        say("stopped" + (args.stopped if args else ""))
        return 130


def tell_busy():
    text = machine.busy_text()
    if text:
        say(text)
