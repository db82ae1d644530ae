"""A checkpoint: what every pass over the rows has found, so that a fit can be gone through again.

A solver is a function of what its passes find. Where these are kept, a fit that was broken off is
run again from the start, is told what it was told before without a read of the rows, and goes on
where the record ends, with the same bits. The file begins with what identifies the fit; each pass
appends a record with its length and checksum, so that one cut short is noticed and left out.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from pathlib import Path

import numpy as np

from entropic import _version
from entropic.files import check_writable, read_bytes, write_whole

from .survey import Survey

MAGIC = b"entropic checkpoint 1\n"
HEAD = struct.Struct("<QI")  # bytes of a record, and their checksum


class Journal:
    """Rows whose passes are recorded.

    Parameters
    ----------
    parts : LocalParts or another object with ``run``
    path : str or path-like
    options : dict
        Of the fit.

    Raises
    ------
    ValueError
        If the file is no checkpoint or of a fit with other options.
    """

    wants_digest = True

    def __init__(self, parts, path, options):
        self.parts, self.path = parts, Path(path)
        check_writable(path)
        told = {"version": _version.__version__} | {k: repr(v) for k, v in options.items()}
        self._records, self._done = [], 0
        if self.path.exists():
            self._records = self._read(told)
        else:
            write_whole(path, MAGIC + _record(json.dumps(told).encode()))

    def run(self, task):
        """What the pass found when it was made, or what it finds now."""
        if isinstance(task, Survey):
            return self._survey(task)
        if self._done < len(self._records):
            self._done += 1
            return _arrays(self._records[self._done - 1])
        found = self.parts.run(task)
        self._append(_content(found))
        return found

    def close(self):
        """The fit is done: remove the file."""
        self.path.unlink(missing_ok=True)

    def _survey(self, task):
        """The survey is made anew each time, and tells whether the rows are the same."""
        found = self.parts.run(task)
        labels, figures, by_label, moments = found
        order = np.argsort(labels)  # on a cluster they come in another order each time
        moments = moments[order] if len(moments) == len(labels) else moments
        known = np.array([repr(labels[order].tolist())]), figures, by_label[:, order], moments
        if not self._records:
            self._append(_content(known))
        told, before, *sums = _arrays(self._records[0])
        # the checksum stands for the sums, which may be rounded otherwise
        if told[0] != known[0][0] or not np.array_equal(before, figures):
            same = "as many" if before[0] == figures[0] else f"{before[0]:.0f}"
            raise ValueError(
                f"The checkpoint {str(self.path)!r} is of other data: {same} rows that are not "
                f"these {figures[0]:.0f}; remove it or give another path."
            )
        self._done = 1
        return labels[order], before, *sums

    def _read(self, told):
        content = read_bytes(self.path)
        records, end = _records(content)
        if not content.startswith(MAGIC) or not records:
            raise ValueError(
                f"{str(self.path)!r} is not a checkpoint of entropic; give another path."
            )
        before = json.loads(records[0])
        for name, value in told.items():
            if before.get(name) != value:
                raise ValueError(
                    f"The checkpoint {str(self.path)!r} is of a fit with "
                    f"{name}={before.get(name)}, not {value}; remove it or give another path."
                )
        if end < len(content):
            with open(self.path, "r+b") as file:
                file.truncate(end)
        return records[1:]

    def _append(self, content):
        with open(self.path, "ab") as file:
            file.write(_record(content))
            file.flush()
            os.fsync(file.fileno())
        self._records.append(content if not self._records else b"")
        self._done = len(self._records)


def _record(content):
    return HEAD.pack(len(content), zlib.crc32(content)) + content


def _records(content):
    """The whole records of a file, and where the last of them ends."""
    found, end = [], len(MAGIC)
    while end + HEAD.size <= len(content):
        length, checksum = HEAD.unpack_from(content, end)
        record = content[end + HEAD.size : end + HEAD.size + length]
        if len(record) < length or zlib.crc32(record) != checksum:
            break
        found.append(record)
        end += HEAD.size + length
    return found, end


def _content(arrays):
    """Arrays as bytes."""
    out = io.BytesIO()
    for array in arrays:
        np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _arrays(content):
    """What :func:`_content` was given."""
    stream, found = io.BytesIO(content), []
    while stream.tell() < len(content):
        found.append(np.load(stream, allow_pickle=False))
    return tuple(found)
