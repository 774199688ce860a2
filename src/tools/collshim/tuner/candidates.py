"""Who can serve a collective, and with which parameters it is worth a try."""

import math

from collshim.texts import bytes_text
from collshim.tuner.shapes import explained

# Values that are tried, beside the default, of parameters that matter; those that are sizes do
# nothing to messages that are no larger.
VALUES = {"segment": (8192, 16384, 32768, 131072, 524288), "chunk": (32768, 524288),
          "wire_chunk": (16384, 65536, 262144),
          "cma_min": (65536, 262144), "read_all": (65536,),
          "window": (1, 2, 8), "k": (1, 2, 4, 8), "radix": (2, 8),
          "ports": (2, 4), "lanes": (1, 4), "senders": (1, 2), "aggregate": (61440,)}
CUTS_MESSAGES = ("segment", "chunk", "wire_chunk")
# Of the ranks that there are.
COUNTS_RANKS = ("k", "radix", "ports", "lanes", "senders")


def split_candidate(text):
    """"hier:bruck:k=2" -> ("hier:bruck", [("k", "2")])"""
    words = text.split(":")
    names = [word for word in words if "=" not in word]
    return ":".join(names), [tuple(word.split("=", 1)) for word in words if "=" in word]


def can_serve(info, coll, size, shape):
    call = "%s:%d" % (coll, size) if info.collectives[coll].has_size else coll
    return [entry["name"] for entry in explained(info, shape, call)["algorithms"]
            if entry["serves"]]


def without_defaults(coll, chosen):
    """What collshim-info says that is chosen, which has all its parameters, as it is written here;
    None where it says nothing."""
    if not chosen:
        return None
    algorithm = coll.algorithms.get(chosen["algorithm"])
    defaults = {param.name: param.default for param in algorithm.params} if algorithm else {}
    return ":".join([chosen["algorithm"]] + [
        "%s=%s" % (name, bytes_text(math.inf if value is None else value))
        for name, value in chosen["parameters"].items() if value != defaults.get(name)])


def list_candidates(info, colls, size, shape):
    """{collective: candidates}, the most promising first: when time is short the last are left
    out."""
    found = {}
    for coll in colls:
        found[coll] = sorted(can_serve(info, coll, size, shape),
                             key=lambda name: (name != "hier:host", not name.startswith("hier:")))
    return found


def variants(candidate, coll, question, ranks, nodes):
    """The candidate with another value for one of its parameters, where that changes something."""
    found, size = [], question.most_bytes()
    is_uneven = coll.has_skew and question.skew != "1"
    # What of a call may be one message: where ranks have blocks, all of them between nodes, and all
    # may be one rank's.
    blocks = size * ranks if coll.has_blocks() else size
    largest = blocks if is_uneven else size
    algorithm = coll.algorithms.get(split_candidate(candidate)[0])
    for param in algorithm.params if algorithm else ():
        name, default = param.name, param.default
        length = blocks if name == "wire_chunk" else largest
        for value in VALUES.get(name, ()):
            if value == default or not param.low <= value <= param.high:
                continue
            if name in CUTS_MESSAGES and value >= length and (default == 0 or default >= length):
                continue
            if name == "read_all" and not default < size <= value:
                continue
            if name == "cma_min" and (value > size or
                                      nodes > 1) or name in COUNTS_RANKS and value >= ranks:
                continue
            found.append("%s:%s=%s" % (candidate, name, bytes_text(value)))
    return found
