"""Sizes, times and lists as they are written and read, and what may be printed."""

import math
import re
import sys

UNITS = {"": 0, "K": 10, "M": 20, "G": 30}


def printable(text):
    """What a terminal would obey, in words of others that we hand on, is not obeyed."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", text)


def speaker(program):
    """A function that says a line of that program on stderr."""
    def say(text):
        print(program + ": " + printable(text), file=sys.stderr, flush=True)
    return say


def read_bytes(text):
    """Bytes of "8", "64K" or "1M", infinity of "inf", None of what is no size."""
    if text == "inf":
        return math.inf
    match = re.fullmatch(r"(\d+)([KMG]?)", text.upper())
    return int(match[1]) << UNITS[match[2]] if match else None


def read_size(text):
    """The same of a size that has an end."""
    size = read_bytes(text)
    return None if size == math.inf else size


def bytes_text(size):
    """As read_bytes reads it."""
    if size == math.inf:
        return "inf"
    for shift, unit in ((30, "G"), (20, "M"), (10, "K")):
        if size and size % (1 << shift) == 0:
            return "%d%s" % (size >> shift, unit)
    return str(size)


def minutes_text(seconds):
    return "%d s" % seconds if seconds < 90 else "%.0f min" % (seconds / 60)


def seconds_text(seconds):
    """Three digits: "62.0 s", "4.31 s", "0.31 s", "12.4 ms"."""
    size = abs(seconds)
    if 0 < size < 0.1:
        return "%.3g ms" % (1000 * seconds)
    return "%.*f s" % (0 if size >= 100 else 1 if size >= 10 else 2, seconds)


def listed(text, known, refuse):
    """The words of a list with commas, each once, in the order of those that are known. `refuse`,
    of a word and of the known ones, is called with what is none of them and does not return."""
    words = [word for word in text.split(",") if word]
    for word in words:
        if word not in known:
            refuse("'%s' is not one of %s" % (word, ", ".join(known)))
    return sorted(set(words), key=list(known).index)
