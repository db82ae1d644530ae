"""Where the real data sets lie that some tests read: beside the repository, never inside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parent.parent.parent / "shared" / "data"


def path(name):
    """Path of a file or folder of the data collection, or a skip that says what is missing.

    The collection is looked for where the environment variable ENTROPIC_DATA says, else in
    ``../shared/data`` beside the repository.
    """
    root = Path(os.environ.get("ENTROPIC_DATA") or BESIDE)
    place = root / name
    if not place.exists():
        pytest.skip(f"{place} is absent; set ENTROPIC_DATA to the folder that holds {name}")
    return place
