"""What a job said on stderr: collshim's lines, which have words for programs in them
(docs/failure-model.md), and of a job that failed what tells most."""

import re


def our_lines(said):
    return re.findall(r"^collshim: .*", said, re.M)


def unserved(said):
    """A line by which nothing of the job, or of a communicator in it, was served: what ran was the
    MPI, whatever was asked for. None: there is none."""
    found = re.search(r"^.*\[unserved:\w+\].*", said, re.M)
    return found and found[0]


def ignored(said):
    """The collectives whose forcing variable was not obeyed, and "tuning" for a file."""
    return set(re.findall(r"\[ignored:(\w+)\]", said))


def unmet(said):
    """The collectives of which calls came that what their forcing variable names cannot serve."""
    return set(re.findall(r"\[unmet:(\w+)\]", said))


def last_words(text):
    """What a failed job said that tells most."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -=|")]
    telling = [line for line in lines if "WRONG RESULT" in line] or \
        [line for line in lines
         if re.match(r"(launch|collshim\S*|cluster|mpirun|mpiexec|srun): ", line)]
    if telling:
        return "; ".join(telling[-2:])[:400]
    # A launcher begins with why it gives up, and may go on at length.
    if len(lines) > 4:
        return "%s ... %s" % (" ".join(lines[:3])[:300], lines[-1][:100])
    return "; ".join(lines)[:400] or "it said nothing"
