"""Of measurements that were repeated: ratios host / ours, more than 1 is faster."""

import statistics


def spread(ratios):
    """(median, least, most)"""
    return statistics.median(ratios), min(ratios), max(ratios)


def spread_text(middle, least, most):
    return "%.2f [%.2f-%.2f]" % (middle, least, most)


def mean_ratio(ratios):
    """The geometric mean, of ratios that may be 0."""
    if len(ratios) == 1:
        return ratios[0]
    return statistics.geometric_mean([max(ratio, 1e-9) for ratio in ratios])


def quartiles(ratios):
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, high
