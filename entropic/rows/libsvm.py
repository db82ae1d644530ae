"""LIBSVM text, ``label index:value ...``: cut between lines, and what is wrong with a line."""

from __future__ import annotations

import math


def blocks(stream, n_bytes):
    """Blocks of whole lines, each with the number of lines before it."""
    n_lines = 0
    while block := stream.read(n_bytes):
        block += stream.readline()
        yield block, n_lines
        n_lines += block.count(b"\n")


def fault_of(pairs):
    """What is wrong with the pairs of a row, as bytes, or None."""
    last = -1
    for pair in pairs:
        index, colon, value = pair.decode("ascii", "replace").partition(":")
        if index == "qid":
            continue
        if not (index.isascii() and index.isdigit() and colon):
            return f"at {index + colon + value!r}: not an index and its value"
        if int(index) >= 2**31:
            return f"index {index}: beyond the largest index, {2**31 - 1}"
        if int(index) <= last:
            return f"index {index}: indices must rise within a line, and {last} comes before it"
        last = int(index)
        try:
            sound = math.isfinite(float(value)) and "_" not in value
        except ValueError:
            sound = False
        if not sound:
            return f"index {index}: {value!r} is not a finite number"
    return None
