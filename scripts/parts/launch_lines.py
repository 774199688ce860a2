"""Command lines of launchers: variables are handed to the ranks of what a user has typed."""

import os
import re
import shutil
import subprocess


def launcher_kind(word):
    """'openmpi', 'hydra', 'srun' or None for a word of a command line that may be a launcher."""
    name = os.path.basename(word)
    if name == "srun":
        return "srun"
    if not re.match(r"(mpirun|mpiexec|orterun|prterun|prun)", name) or not shutil.which(word):
        return None
    try:
        text = subprocess.run([word, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    if "Open MPI" in text or "OpenRTE" in text or "PRTE" in text:
        return "openmpi"
    if "HYDRA" in text:
        return "hydra"
    return None


# How many words belong to a launcher's option: none behind these, two behind those, one behind any
# other.
ALONE = set("""
    allow-run-as-root bynode byslot bycore bysocket continuous debug-daemons disable-auto-cleanup
    disable-hostname-propagation disable-recovery disable-x display-allocation display-devel-map
    display-map do-not-launch enable-auto-cleanup enable-hostname-propagation enable-recovery
    enable-x envall envnone exclusive genvall genvnone get-stack-traces info l label
    merge-stderr-to-stdout multi-prog nolocal nooversubscribe novm O order-nodes overcommit
    oversubscribe pernode prepend-rank preload-binary print-all-exitcodes profile pty q Q quiet
    report-bindings report-state-on-timeout s skip-launch-node tag-output timestamp-output u
    unbuffered use-hwthread-cpus v V verbose xml
    """.split())
PAIRS = {"genv", "env", "mca", "gmca", "omca", "pmixmca", "prtemca"}
FILES = {"f", "hostfile", "machinefile", "machine", "rf", "rankfile", "launcher-exec",
         "configfile", "app", "wdir", "x"}


def find_launcher(command):
    """Where it stands and of which kind it is; (-1, None) where there is none."""
    return next(((i, kind) for i, kind in enumerate(map(launcher_kind, command)) if kind),
                (-1, None))


def is_program(word):
    return "/" in word and bool(shutil.which(word))


def program_at(words):
    """Where the program stands in the words of one application context: behind the launcher's
    options."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name = words[at].lstrip("-")
        if not name:
            return at + 1
        follows = words[at + 1] if at + 1 < len(words) else ""
        if name in PAIRS:
            at += 3
        elif name in ALONE or "=" in name or re.match(r"[A-Za-z]\d+$", name) or \
                (name not in FILES and (follows.startswith("-") or is_program(follows))):
            at += 1
        else:
            at += 2
    return min(at, len(words))


def contexts(words):
    """What stands between ':' for a launcher, as pairs: options, program with its arguments."""
    found = [[]]
    for word in words:
        if word == ":":
            found.append([])
        else:
            found[-1].append(word)
    return [(part[:program_at(part)], part[program_at(part):]) for part in found]


def joined(name, value, own):
    """Another library that is preloaded stays, behind ours; of any other variable ours is what
    counts."""
    return value + ":" + own if name == "LD_PRELOAD" and own else value


def env_words(words):
    """Where 'env' sets variables: its places in `words`, if that begins with it."""
    if not words or os.path.basename(words[0]) != "env":
        return []
    at, found = 1, []
    while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
        if not words[at].startswith("-"):
            found.append(at)
        at += 2 if words[at] in ("-u", "--unset", "-C", "--chdir") else 1
    return found


def set_env(words, variables):
    """What 'env' sets goes before what the launcher hands on, so it must name both."""
    for at in env_words(words):
        name, _, own = words[at].partition("=")
        if name in variables:
            words[at] = name + "=" + joined(name, variables[name], own)


def set_x(options, name, value, before):
    """Open MPI: -x NAME or -x NAME=VALUE, which holds for the context that it stands in and for no
    other."""
    is_given = False
    for i in range(1, len(options)):
        own_name, has_value, own = options[i].partition("=")
        if options[i - 1].lstrip("-") == "x" and own_name == name:
            options[i] = name + "=" + joined(name, value, own if has_value else before)
            is_given = True
    if not is_given:
        options[:0] = ["-x", name + "=" + joined(name, value, before)]


def set_genv(parts, name, value, before):
    """hydra: -genv holds for all contexts, -env for its own and goes before it."""
    is_given = False
    for options, _ in parts:
        for i in range(len(options) - 2):
            if options[i].lstrip("-") in ("genv", "env") and options[i + 1] == name:
                options[i + 2] = joined(name, value, options[i + 2])
                is_given = is_given or options[i].lstrip("-") == "genv"
    if not is_given:
        parts[0][0][:0] = ["-genv", name, joined(name, value, before)]


def set_export(options, variables, before):
    """srun hands on its own environment; a list given with --export wants to be longer."""
    for i, word in enumerate(options):
        if word.startswith("--export="):
            start, given = "--export=", word.partition("=")[2]
        elif i > 0 and options[i - 1] == "--export":
            start, given = "", word
        else:
            continue
        items = [item for item in given.split(",") if item != "NONE"]
        for name, value in variables.items():
            own = next((item.partition("=")[2] for item in items if item.startswith(name + "=")),
                       None)
            items = [item for item in items if item.partition("=")[0] != name]
            items.append(name + "=" + joined(name, value, before.get(name) if own is None else own))
        options[i] = start + ",".join(items)
        return
    options[:0] = ["--export=ALL" + "".join(",%s=%s" % (name, joined(name, value, before.get(name)))
                                            for name, value in variables.items())]


def with_variables(command, variables):
    """The same command line, with variables for the ranks, and what else must be in its own
    environment."""
    at, kind = find_launcher(command)
    head = list(command[:at + 1])
    before = dict(os.environ, **dict(head[i].split("=", 1) for i in env_words(head)))
    if kind is None:
        words = list(command)
        set_env(words, variables)
        return words, {name: joined(name, value, os.environ.get(name)) for name,
                       value in variables.items()}
    parts = contexts(command[at + 1:])
    for options, program in parts:
        if kind == "openmpi":
            for name, value in variables.items():
                set_x(options, name, value, before.get(name))
        elif kind == "srun":
            set_export(options, variables, before)
        set_env(program, variables)
    if kind == "hydra":
        for name, value in variables.items():
            set_genv(parts, name, value, before.get(name))
    line = head
    for number, (options, program) in enumerate(parts):
        line = line + ([":"] if number else []) + options + program
    return line, {}


def preload(library, folder):
    """LD_PRELOAD is split at blanks and colons: where the path has one, a link to its folder stands
    in for it."""
    if re.search(r"[\s:]", library):
        link = os.path.join(folder, "library")
        if not os.path.islink(link):
            os.symlink(os.path.dirname(library), link)
        library = os.path.join(link, os.path.basename(library))
    return library
