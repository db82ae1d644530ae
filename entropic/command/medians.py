"""Exact medians of columns whose rows are read in batches and never held together."""

from __future__ import annotations

import numpy as np

# Counts of digits take 16 << bits bytes a column; fewer bits take more passes.
_BITS, _BITS_OF_MANY, _MANY = 16, 11, 64
_SIGN = np.uint64(1 << 63)


def exact_medians(columns, names):
    """Medians over the values that are not NaN, by fixing the digits of their bits one by one.

    Parameters
    ----------
    columns : callable
        Gives, for each pass, an iterable of functions from a name to a float64 array.
    names : list of str

    Returns
    -------
    dict of str to float
        NaN for a column without values.
    """
    medians = dict.fromkeys(names, float("nan"))
    # the digits so far, and the rank among those of the same, of the two middle values
    wanted: dict[str, list] = {}
    bits, position = _BITS if len(names) <= _MANY else _BITS_OF_MANY, 64
    while position:
        width = min(bits, position)
        counts = {name: np.zeros((2, 1 << width), dtype=np.int64) for name in names}
        for column in columns():
            for name in names:
                keys = _keys(column(name))
                for side, (prefix, _) in enumerate(wanted.get(name, ((0, 0), (0, 0)))):
                    among = keys if position == 64 else keys[keys >> np.uint64(position) == prefix]
                    digits = among >> np.uint64(position - width) & np.uint64((1 << width) - 1)
                    counts[name][side] += np.bincount(digits.astype(np.intp), minlength=1 << width)
        if position == 64:
            totals = {name: int(counts[name][0].sum()) for name in names}
            names = [name for name in names if totals[name]]
        for name in names:
            n = totals[name]
            middle = wanted.get(name, ((0, (n - 1) // 2), (0, n // 2)))
            wanted[name] = [
                _narrowed(prefix, rank, np.cumsum(below), width)
                for (prefix, rank), below in zip(middle, counts[name], strict=True)
            ]
        position -= width
    return medians | {name: _median(wanted[name]) for name in names}


def _keys(values):
    """Whole numbers in the order of the values, without NaN."""
    raw = values[~np.isnan(values)].view(np.uint64)
    return np.where(raw & _SIGN, ~raw, raw | _SIGN)


def _narrowed(prefix, rank, below, width):
    digit = int(np.searchsorted(below, rank, side="right"))
    return prefix << width | digit, rank - (int(below[digit - 1]) if digit else 0)


def _median(middle):
    keys = np.array([key for key, _ in middle], dtype=np.uint64)
    return float(np.mean(np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)))
