"""Tables as the command reads and prints them, for tests."""

import csv
import io
import sys

import numpy as np

COMMAND = [sys.executable, "-m", "entropic"]


def mixed_rows(n=60, seed=0):
    """Rows with a number, a word, missing cells, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(size=n), rng.choice(["red", "blue", "?"], n)
    good = size + (colour == "red") + rng.normal(size=n) > 0.5
    cells = np.where(rng.random(n) < 0.1, "NA", np.round(size, 3).astype(str))
    return [
        [cell, word, "good" if label else "bad"]
        for cell, word, label in zip(cells, colour, good, strict=True)
    ]


def as_csv(rows, header=("size", "colour", "y"), separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in [header, *rows] if len(row))


def predictions(out):
    return list(csv.DictReader(io.StringIO(out)))


def said(out, label):
    return next(line for line in out.splitlines() if line.strip().startswith(label)).split(None, 1)
