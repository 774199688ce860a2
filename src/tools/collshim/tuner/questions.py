"""What a sweep asks of a shape, and which distributions stand for which rule."""

import math

from collshim.distributions import PARTS, blocks_of
from collshim.texts import bytes_text, read_bytes

DISTRIBUTIONS = [name for name in PARTS if name != "half"]

# Calls in a row: programs call singly, and many times in a row. A rule holds for both, so each
# question is asked for both.
ROWS = (1, 20)

SKEWED_FROM = 1.5    # largest block over mean block: below it is `skew: 1`


def cut(low, high):
    """Where the rule of `low` ends and that of `high` begins."""
    return min(max(round(math.sqrt(low * high)), low + 1), high)


def size_range(sizes, size):
    """[from, to) around a measured size."""
    at = sizes.index(size)
    return (cut(sizes[at - 1], size) if at else 0, cut(size, sizes[at + 1]) if at + 1 < len(sizes)
            else math.inf)


def whole_bytes(coll, size, ranks):
    """What collshim-bench makes of a size: reductions have whole ints, reduce_scatter_block whole
    equal blocks."""
    if not coll.reduces:
        return size
    unit = 4 * (ranks if coll.name == "reduce_scatter_block" else 1)
    return -(-size // unit) * unit


class Question:
    """What one rule has to answer: one candidate for some cells (size, distribution, kind of calls)
    of a collective, by its name: each of the (size, distribution) with each of ROWS; if it is for a
    class of imbalance, with each pattern of that class."""

    def __init__(self, coll, size, skew, cases, imbalance=None, kinds=ROWS):
        self.coll, self.size, self.skew = coll, size, skew
        self.imbalance, self.kinds = imbalance, kinds
        self.cells = tuple((*case, kind) for case in cases for kind in kinds)

    def __str__(self):
        words = [self.coll]
        if self.size:
            words.append(bytes_text(self.size))
        if self.skew:
            words.append("skew " + self.skew)
        if self.imbalance:
            words.append("imbalance " + self.imbalance)
        return " ".join(words)

    def most_bytes(self):
        return max(cell[0] for cell in self.cells)


def distributions_by_skew(coll, size, ranks):
    """{condition: distributions that meet it}, as the library reckons, which takes the mean as the
    next whole byte or element: where a vector has few elements for its ranks, fewer distributions
    are uneven."""
    total = size // 4 if coll.reduces else size * ranks
    mean = -(-total // ranks)
    found = {"1": [], "2-inf": []}
    for name in DISTRIBUTIONS:
        found["2-inf" if max(blocks_of(name, total, ranks)) >= SKEWED_FROM * mean
              else "1"].append(name)
    return {skew: names for skew, names in found.items() if names}


def has_room(args, size, ranks):
    """Does collshim-bench measure blocks of that size? It has two sets of two buffers with a block
    for each rank."""
    return 4 * size * ranks <= read_bytes(args.memory) and size * ranks < 1 << 31


def list_questions(args, collectives, ranks, knows_skew, patterns):
    """knows_skew: may rules of this library ask how uneven blocks are? patterns: {pattern: class of
    imbalance}"""
    questions = []
    for imbalance in (None, "moderate", "strong"):
        kinds = tuple(name for name, its in patterns.items() if its == imbalance)
        for name in args.colls if kinds or not imbalance else ():
            questions += [Question(name, *asked, imbalance, kinds or ROWS) for asked in
                          questions_of(args, collectives[name], ranks, knows_skew)]
    return questions


def questions_of(args, coll, ranks, knows_skew):
    """[(size, skew, cases)]"""
    sizes = sorted({whole_bytes(coll, size, ranks) for size in args.sizes})
    if coll.is_size_unknown:
        # What cannot be measured must not leave all the other sizes without an answer.
        most = [size for size in sizes if has_room(args, size, ranks)] or sizes[:1]
        return [(None, None, [(size, "regular") for size in most])]
    if not coll.has_size:
        return [(None, None, [(0, None)])]
    if coll.has_skew and knows_skew:
        return [(size, skew, [(size, name) for name in names]) for size in sizes
                for skew, names in distributions_by_skew(coll, size, ranks).items()]
    names = DISTRIBUTIONS if coll.has_skew else [None]
    return [(size, None, [(size, name) for name in names]) for size in sizes]
