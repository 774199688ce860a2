"""Command lines of launchers: which launcher it is, and variables for the ranks in the form that it
takes them (-x, -genv, --export, --env). MPMD lines with ':' have them in each part."""

import os
import re
import shutil
import subprocess

# How a launcher names itself, and its kind.
VERSIONS = ((r"Open MPI|OpenRTE|PR?RTE", "openmpi"), (r"HYDRA|Intel\(R\) MPI", "hydra"))
LAUNCHER_NAMES = "mpirun, mpiexec, prterun, prun, srun or flux run"
# The subcommands of flux that start ranks, with its older "flux mini run".
FLUX = ("run", "submit", "alloc")


def launcher_kind(word):
    """'openmpi' (PRRTE's prterun among them), 'hydra', 'srun' or None for a word of a command line
    that may be a launcher. flux is known by two words (find_launcher)."""
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
    return next((kind for pattern, kind in VERSIONS if re.search(pattern, text)), None)


# How many words belong to a launcher's option: none behind these, two behind those, one behind any
# other.
ALONE = set("""
    allow-run-as-root bynode byslot bycore bysocket continuous debug-daemons disable-auto-cleanup
    disable-hostname-propagation disable-recovery disable-x display-allocation display-devel-map
    display-map do-not-launch enable-auto-cleanup enable-hostname-propagation enable-recovery
    enable-x envall envnone exact exclusive genvall genvnone get-stack-traces info k K l label
    merge-stderr-to-stdout multi-prog nolocal nooversubscribe novm O order-nodes overcommit
    overlap oversubscribe pernode prepend-rank preload-binary print-all-exitcodes profile pty q Q
    quiet report-bindings report-state-on-timeout s skip-launch-node tag-output timestamp-output u
    unbuffered use-hwthread-cpus v V verbose xml Z
    """.split())
PAIRS = {"genv", "env", "mca", "gmca", "omca", "pmixmca", "prtemca"}
FILES = {"f", "hostfile", "machinefile", "machine", "rf", "rankfile", "launcher-exec",
         "configfile", "app", "wdir", "x"}


def find_launcher(command):
    """(place of its last word, kind); (-1, None) where there is none."""
    for at, word in enumerate(command):
        if os.path.basename(word) == "flux":
            behind = at + 1 + (command[at + 1:at + 2] == ["mini"])
            if command[behind:behind + 1] and command[behind] in FLUX:
                return behind, "flux"
        kind = launcher_kind(word)
        if kind:
            return at, kind
    return -1, None


def is_program(word):
    return "/" in word and bool(shutil.which(word))


def program_at(words, kind=None):
    """The place of the program in the words of one application context: behind the launcher's
    options."""
    pairs = PAIRS - {"env"} if kind == "flux" else PAIRS
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name = words[at].lstrip("-")
        if not name:
            return at + 1
        follows = words[at + 1] if at + 1 < len(words) else ""
        if name in pairs:
            at += 3
        elif name in ALONE or "=" in name or re.match(r"[A-Za-z]\d+$", name) or \
                (name not in FILES and (follows.startswith("-") or is_program(follows))):
            at += 1
        else:
            at += 2
    return min(at, len(words))


def contexts(words, kind=None):
    """The parts between ':' of a launcher's words, as pairs: options, program with its
    arguments."""
    found = [[]]
    for word in words:
        if word == ":":
            found.append([])
        else:
            found[-1].append(word)
    return [(part[:program_at(part, kind)], part[program_at(part, kind):]) for part in found]


class Variables:
    """Variables for the ranks: `forced` ones stand in for what the command line gives, `defaults`
    (of the environment) stand behind it."""

    def __init__(self, forced, defaults=None):
        self.forced = forced
        self.all = dict(defaults or {}, **forced)

    def value(self, name, own):
        """In place of the line's own value, if it has one. Libraries that it preloads itself stay,
        behind ours, but a sanitizer's, which must come first."""
        if name != "LD_PRELOAD":
            return self.all[name] if own is None or name in self.forced else own
        items = [item for item in re.split(r"[\s:]+", own or "") if item and
                 os.path.basename(item) != "libcollshim.so"]
        firsts = [item for item in items if re.match(r"lib(asan|tsan|ubsan|lsan|clang_rt)",
                                                     os.path.basename(item))]
        return ":".join(firsts + [self.all[name]] + [item for item in items if item not in firsts])


def env_words(words):
    """The places in `words` where 'env' sets variables, if they begin with it."""
    if not words or os.path.basename(words[0]) != "env":
        return []
    at, found = 1, []
    while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
        if not words[at].startswith("-"):
            found.append(at)
        at += 2 if words[at] in ("-u", "--unset", "-C", "--chdir") else 1
    return found


def set_env(words, variables):
    """'env' in front of a program: goes before what the launcher hands on, so it must name both."""
    for at in env_words(words):
        name, _, own = words[at].partition("=")
        if name in variables.all:
            words[at] = name + "=" + variables.value(name, own)


def set_x(options, variables, before):
    """-x NAME or -x NAME=VALUE, which holds for the context that it stands in and for no other."""
    added = []
    for name in variables.all:
        is_given = False
        for i in range(1, len(options)):
            own_name, has_value, own = options[i].partition("=")
            if options[i - 1].lstrip("-") == "x" and own_name == name:
                options[i] = name + "=" + variables.value(name, own if has_value
                                                          else before.get(name))
                is_given = True
        if not is_given:
            added += ["-x", name + "=" + variables.value(name, before.get(name))]
    options[:0] = added


def set_genv(parts, variables, before):
    """hydra: -genv holds for all contexts, -env for its own and goes before it."""
    added = []
    for name in variables.all:
        is_given = False
        for options, _ in parts:
            for i in range(len(options) - 2):
                if options[i].lstrip("-") in ("genv", "env") and options[i + 1] == name:
                    options[i + 2] = variables.value(name, options[i + 2])
                    is_given = is_given or options[i].lstrip("-") == "genv"
        if not is_given:
            added += ["-genv", name, variables.value(name, before.get(name))]
    parts[0][0][:0] = added


def set_export(options, variables, before, environment):
    """srun hands on its own environment, or what a list names. That list ends values at a comma:
    one with a comma is put into srun's own environment and named."""
    place, start, given = None, "--export=", before.get("SLURM_EXPORT_ENV", "ALL")
    for i, word in enumerate(options):
        if word.startswith("--export="):
            place, given = i, word.partition("=")[2]
        elif i > 0 and options[i - 1] == "--export":
            place, start, given = i, "", word
    items = [item for item in given.split(",") if item not in ("NONE", "NIL")]
    for name in variables.all:
        own = next((item.partition("=")[2] for item in items if item.startswith(name + "=")),
                   before.get(name))
        value = variables.value(name, own)
        items = [item for item in items if item.partition("=")[0] != name]
        if "," in value:
            environment[name] = value
        items.append(name if "," in value else name + "=" + value)
    if place is None:
        options[:0] = [start + ",".join(items)]
    else:
        options[place] = start + ",".join(items)


def set_rules(options, variables, before):
    """flux: --env=NAME=VALUE, behind the line's own rules, as they are obeyed in their order. A '$'
    in a value would be expanded."""
    at, is_set = 0, {}
    for i, word in enumerate(options):
        if not word.startswith("--env"):
            continue
        rule = word.partition("=")[2] if "=" in word else options[i + 1] if i + 1 < len(options) \
            else ""
        name, has_value, own = rule.partition("=")
        if has_value:
            is_set[name] = own
        at = i + 1 if "=" in word else i + 2
    options[at:at] = ["--env=%s=%s" % (name, variables.value(
        name, is_set.get(name, before.get(name))).replace("$", "$$")) for name in variables.all]


def has_file_of_parts(options):
    """Open MPI's --app FILE has the programs with their options: others on the line count for
    nothing."""
    return any(word.lstrip("-") == "app" for word in options)


def with_variables(command, forced, defaults=None):
    """The same command line, with variables for the ranks, and what else must be in its own
    environment."""
    variables = Variables(forced, defaults)
    at, kind = find_launcher(command)
    head, environment = list(command[:at + 1]), {}
    before = dict(os.environ, **dict(head[i].split("=", 1) for i in env_words(head)))
    if kind is None:
        words = list(command)
        set_env(words, variables)
        return words, {name: variables.value(name, os.environ.get(name)) for name in variables.all}
    parts = contexts(command[at + 1:], kind)
    for options, program in parts:
        if kind == "openmpi" and has_file_of_parts(options):
            own = before.get("OMPI_MCA_mca_base_env_list")
            environment["OMPI_MCA_mca_base_env_list"] = ";".join(
                ([own] if own else []) + ["%s=%s" % (name, variables.value(name, before.get(name)))
                                          for name in variables.all])
        elif kind == "openmpi":
            set_x(options, variables, before)
        elif kind == "srun":
            set_export(options, variables, before, environment)
        elif kind == "flux":
            set_rules(options, variables, before)
        set_env(program, variables)
    if kind == "hydra":
        set_genv(parts, variables, before)
    line = head
    for number, (options, program) in enumerate(parts):
        line = line + ([":"] if number else []) + options + program
    return line, environment


def programs(command):
    """The programs of a command line, each with its arguments. Without a launcher that is known:
    the first path that can be run, else all of it."""
    at, kind = find_launcher(command)
    if not kind:
        found = next((i for i, word in enumerate(command) if is_program(word)), 0)
        return [command[found:]]
    found = []
    for _, words in contexts(command[at + 1:], kind):
        if env_words(words):
            words = words[env_words(words)[-1] + 1:]
        found.append(words)
    return found


# An MPI's library among those of a program, and the name of the MPI.
LIBRARIES = (r"\blibmpi\.so\.[24]0\b", "Open MPI"), (r"\blib(mpich|mpi)\.so\.12\b", "MPICH")


def program_mpi(path):
    """"MPICH" or "Open MPI", if the program is linked with one; else None (a script, the standard
    ABI, a program that opens it later)."""
    found = shutil.which(path)
    try:
        text = subprocess.run(["ldd", found or path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((name for pattern, name in LIBRARIES if re.search(pattern, text)), None)


LAUNCHER_MPI = {"openmpi": "Open MPI", "hydra": "MPICH"}


def mismatch(command):
    """A line where the program is linked with another MPI than the launcher's: its ranks would not
    find each other. Else nothing."""
    _, kind = find_launcher(command)
    wanted = LAUNCHER_MPI.get(kind)
    for words in programs(command) if wanted else []:
        mpi = program_mpi(words[0]) if words else None
        if mpi and mpi != wanted:
            return "%s is linked with %s, but %s starts ranks for %s: each may find itself alone" \
                % (os.path.basename(words[0]), mpi, os.path.basename(command[find_launcher(
                    command)[0]]), wanted)
    return ""
