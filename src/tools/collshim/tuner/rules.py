"""The tuning file that a sweep writes."""

import json
import math
import re
import textwrap

from collshim.failure import Failure
from collshim.files import write_whole
from collshim.texts import bytes_text
from collshim.tuner.candidates import split_candidate
from collshim.tuner.questions import ROWS, size_range
from collshim.tuner.scores import decide, loss_floor, unless_lost, win_floor
from collshim.tuner.shapes import is_cyclic, shape_text

WRITTEN = "# Written by collshim-tune"


def quoted(text):
    return json.dumps(text)


def folded(text):
    """The same over several lines, broken behind blanks and commas."""
    lines = [""]
    for word in re.findall(r"[^ ,]*[ ,]?", quoted(text)):
        if lines[-1] and len(lines[-1]) + len(word) > 100:
            lines.append("")
        lines[-1] += word
    return ("\\\n" + 10 * " ").join(lines)


def item(text):
    """An item of a list: a map in braces, over several lines if need be, broken behind commas."""
    lines = ["- "]
    for word in re.findall(r"(?:[^,]|,(?! ))+(?:, |$)", text):
        if len(lines[-1]) + len(word) > 116:
            lines[-1] = lines[-1].rstrip()
            lines.append("   ")
        lines[-1] += word
    return lines


def use_text(candidate):
    name, params = split_candidate(candidate)
    text = "use: " + (name if name == "host" else quoted(name))
    if params:
        text += ", with: {%s}" % ", ".join("%s: %s" % pair for pair in params)
    return text


def joined(answers):
    """[(low, high, candidate)] of [(size, parts_of)], where parts_of(low, high) is such a list for
    these sizes: neighbours with the same answer together."""
    sizes = [size for size, _ in answers]
    rules = []
    for size, parts_of in answers:
        for low, high, candidate in parts_of(*size_range(sizes, size)):
            if rules and rules[-1][2] == candidate:
                low = rules.pop()[0]
            rules.append((low, high, candidate))
    return rules


def parts_by(sweep, question, candidate, is_open):
    """For joined(): one candidate for all sizes around the question's, or what is built in for
    each."""
    if not is_open:
        return lambda low, high: [(low, high, candidate)]
    scores = sweep.scores(question)
    return lambda low, high: [(start, end, unless_lost(scores, use))
                              for start, end, use in sweep.built_in_parts(question, low, high)]


def rule_conditions(shape):
    ppn = "%d" % shape["ppn_min"]
    if shape["ppn_max"] != shape["ppn_min"]:
        ppn += "-%d" % shape["ppn_max"]
    placement = ", placement: " + shape["placement"] if shape["placement"] else ""
    return "ranks: %d, nodes: %d, ppn: %s%s" % (shape["ranks"], shape["nodes"], ppn, placement)


def one_rule(coll, shape, low, high, skew, imbalance, candidate):
    words = ["collective: " + coll, rule_conditions(shape)]
    if (low, high) != (0, math.inf):
        words.append("bytes: %s-%s" % (bytes_text(low), bytes_text(high)))
    if skew:
        words.append("skew: " + skew)
    if imbalance:
        words.append("imbalance: " + imbalance)
    return "{%s, %s}" % (", ".join(words), use_text(candidate))


def seen_text(candidate, best, score, is_open):
    seen = "%s %s" % (best, score.text()) if best else "nothing was measured"
    if is_open:
        kept = {None: "no rule", "host": "host, not all was measured"}.get(candidate, "as built in")
        return "%s; %s" % (kept, "best so far: " + seen if best else seen)
    if candidate == "host":
        return "host; " + ("best: " + seen if best else seen)
    return seen


def unmeasured(sweep, coll):
    """What rules without a measured imbalance ask for: None (nothing), unless the built-in rules
    have others for a class that was not measured, which they are not to hide."""
    known = [question.imbalance for question in sweep.questions if question.coll == coll]
    own = [question for question in sweep.questions if question.coll == coll and
           not question.imbalance]
    open_classes = [name for name in ("moderate", "strong") if name not in known and
                    any(found["chosen"] and found["imbalanced"][name] != found["chosen"]["use"]
                        for question in own
                        for found in sweep.explained(question, question.size or 0))]
    left = [name for name in ("balanced", "moderate", "strong") if name not in open_classes]
    return "[%s]" % ", ".join(left) if open_classes else None


def coll_rules(sweep, coll, margin):
    """The lines of a collective: what was seen, as comments, and its rules; before them those for a
    class of imbalance, where they differ."""
    answers, lines = {}, []
    for question in (question for question in sweep.questions if question.coll == coll):
        candidate, best, score, is_open = decide(sweep, question, margin)
        by_skew = answers.setdefault(question.imbalance, {})
        by_skew.setdefault(question.skew, []).append(
            (question.size or 1, parts_by(sweep, question, candidate, is_open)))
        lines += textwrap.wrap("# %s: %s" % (question, seen_text(candidate, best, score, is_open)),
                               120,
                               subsequent_indent="#   ", break_long_words=False,
                               break_on_hyphens=False)
    rules = {imbalance: rules_by_skew(by_skew) for imbalance, by_skew in answers.items()}
    others = unmeasured(sweep, coll)
    for imbalance in sorted(rules, key=lambda name: name is None):
        for rule in rules[imbalance]:
            if rule[2] is not None and (not imbalance or rule not in rules[None]):
                low, high, candidate, skew = rule
                lines += item(one_rule(coll, sweep.shape, low, high, skew, imbalance or others,
                                       candidate))
    return lines


def rules_by_skew(by_skew):
    """[(low, high, candidate, skew)]"""
    rules = {skew: joined(sorted(answers, key=lambda pair: pair[0]))
             for skew, answers in by_skew.items()}
    if len({json.dumps(list_of) for list_of in rules.values()}) == 1:
        rules = {None: next(iter(rules.values()))}
    return [(*rule, skew) for skew, list_of in rules.items() for rule in list_of]


def provenance(state, shape, note):
    machine = state.data["machine"]
    where = "%s, %d cores, %s; %d ranks on %d node%s" % (
        machine["cpu"], machine["cores"], machine["system"], shape["ranks"], shape["nodes"],
        "" if shape["nodes"] == 1 else "s")
    return [("date", state.data["date"]), ("library", quoted(state.data["library"])),
            ("mpi", quoted(shape["mpi"])),
            ("machine", quoted(where)), ("command", folded(state.data["command"])),
            ("note", folded(note))]


def jobs_text(jobs):
    if not jobs:
        return "none was repeated"
    return "%d" % jobs[0] if min(jobs) == max(jobs) else "%d to %d" % (min(jobs), max(jobs))


def block_note(sweep, args):
    shape = sweep.shape
    jobs = [score.jobs for _, _, score, _ in (decide(sweep, question, args.margin)
                                              for question in sweep.questions)
            if score and score.jobs]
    words = ["ratio MPI / ours: median, quartiles of the rounds, medians of single calls and of "
             "rows of %d, jobs (%s); rules hold for both kinds of calls, else host: each job's "
             "median above %.2f and the MPI's spread, and the lower quartile above 1 in one, no "
             "median below %.2f in the other" % (max(ROWS), jobs_text(jobs), win_floor(args.margin),
                         loss_floor(args.margin))]
    words += ["%s is %s imbalance" % pair for pair in shape["patterns"].items()]
    words += ["%s: time was up, %d candidates left out" % (wave, count) for wave,
              count in shape["left_out"].items()]
    words += ["failed: %s by %s" % (coll, name) for coll, names in shape["banned"].items()
              for name in names]
    return "; ".join(words)


def block_lines(sweep, args, state):
    shape = sweep.shape
    lines = ["- name: " + quoted("tuned %s %s" % (state.data["date"], shape_text(shape))),
             "  provenance:"]
    lines += ["    %s: %s" % pair for pair in provenance(state, shape, block_note(sweep, args))]
    rules = ["    " + line for coll in args.colls for line in coll_rules(sweep, coll, args.margin)]
    has_rules = any(not line.lstrip().startswith("#") for line in rules)
    return lines + ["  machine: {mpi: %s}" % shape["flavour"], "  rules:" if has_rules
                    else "  rules: []"] + rules


def host_lines(sweeps):
    """The host's median cost of single calls at the shapes whose nodes have equally many ranks,
    block placed. Not of rooted collectives, since the last rank to enter one may find most of it
    done, and the model reckons what a call takes from its first entry on."""
    lines = []
    for sweep in sweeps:
        shape = sweep.shape
        if shape["ppn_min"] != shape["ppn_max"] or is_cyclic(shape):
            continue
        for coll in sweep.args.colls:
            known = sweep.collectives[coll]
            if known.is_size_unknown or known.is_rooted:
                continue
            sizes = sweep.sizes_of(coll) if known.has_size else [0]
            costs = [(size, sweep.results.host_us(coll, size)) for size in dict.fromkeys(sizes)]
            texts = ["%s: %.2fus" % (bytes_text(size), max(cost, 0.01)) for size, cost in costs
                     if cost]
            if texts:
                lines += item("{collective: %s, ranks: %d, nodes: %d, cost: {%s}}" % (
                    coll, shape["ranks"], shape["nodes"], ", ".join(texts)))
    return lines


def model_lines(sweeps, state):
    """A model for each MPI, and one for its plans by verbs where there are any: what messages cost
    at its largest shape of several nodes, what the host costs at all."""
    lines = []
    for flavour in dict.fromkeys(sweep.shape["flavour"] for sweep in sweeps):
        ours = [sweep for sweep in sweeps if sweep.shape["flavour"] == flavour]
        measured = [sweep.shape for sweep in ours if sweep.shape["nodes"] > 1 and
                    sweep.shape.get("loggp")]
        if not measured:
            continue
        shape = max(measured, key=lambda shape: (shape["nodes"], shape["ranks"]))
        hosts = host_lines(ours)
        for key, wire in (("loggp", "host"), ("loggp_ib", "ib")):
            costs = shape.get(key)
            if not hosts or not costs:
                continue
            note = "collshim-bench --loggp --wire %s at %d ranks on %d nodes" % (
                wire, shape["ranks"], shape["nodes"])
            lines += ["- name: " + quoted("tuned %s %s%s" % (state.data["date"], flavour, "" if
                                                             wire == "host" else " verbs")),
                      "  provenance:"]
            lines += ["    %s: %s" % pair for pair in provenance(state, shape, note)]
            lines += ["  machine: {mpi: %s}" % flavour, "  wire: " + wire, "  parameters: " +
                      folded(costs["parameters"]),
                      "  fit_error: %.3f" % min(costs["fit_error"], 10), "  host:"]
            lines += ["    " + line for line in hosts]
    return lines


def tuning_text(sweeps, args, tools, state, has_models):
    lines = ["%s (%s). The format is in docs/tuning.md; check with: collshim-info --check FILE" % (
        WRITTEN, tools.version), "version: 1", "", "blocks:"]
    # `ppn: 1-3` holds for nodes with two ranks each, too: their own block stands before it.
    for sweep in sorted(sweeps, key=lambda sweep: sweep.shape["ppn_max"] - sweep.shape["ppn_min"]):
        lines += ["  " + line for line in block_lines(sweep, args, state)]
    models = model_lines(sweeps, state) if has_models else []
    if models:
        lines += ["", "models:"] + ["  " + line for line in models]
    return "\n".join(lines) + "\n"


def write_tuning(text, args, tools):
    if not tools.info.accepts(text):
        write_whole(args.out + ".refused", text)
        raise Failure(1, "what was made is no tuning file: see collshim-info --check %s.refused" %
                      args.out)
    write_whole(args.out, text)
