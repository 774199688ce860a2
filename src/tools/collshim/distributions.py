"""How collshim-bench deals a vector among ranks (bench/distribution.c)."""

import itertools

# Each rank's part of so many.
PARTS = {
    "regular": lambda rank, ranks: 1,
    "broadcast": lambda rank, ranks: int(rank == 0),
    "spike": lambda rank, ranks: ranks - 1 if rank == 0 else 1,
    "half": lambda rank, ranks: int(rank % 2 == 0),
    "decreasing": lambda rank, ranks: ranks - 1 - rank,
    "geometric": lambda rank, ranks: 0.5 ** ((rank + 1).bit_length() - 1),
}


def blocks_of(name, total, ranks):
    """The blocks of ranks that have so much together, rounded as collshim-bench does it."""
    parts = [PARTS[name](rank, ranks) for rank in range(ranks)]
    whole = sum(parts)
    ends = [int(total * (upto / whole) + 0.5) for upto in itertools.accumulate(parts)]
    return [end - start for start, end in zip([0] + ends, ends)]
