"""The bytes of a file or of standard input, decompressed, opened as often as they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path

STDIN = "-"
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


class Content:
    """What a path holds.

    Parameters
    ----------
    path : str
        ``-`` is standard input, which is read to its end and kept.

    Attributes
    ----------
    name : str
        For messages.
    is_plain : bool
        Whether the file lies on disk as it is read.

    Raises
    ------
    ValueError
        If there is no such file or it cannot be read.
    """

    def __init__(self, path):
        self.path = path
        self.name = "standard input" if path == STDIN else repr(path)
        self._kept = sys.stdin.buffer.read() if path == STDIN else None
        with self._raw() as raw:
            start = raw.read(6)
        openers = [open_ for magic, open_ in _OPENERS.items() if start.startswith(magic)]
        if start.startswith(b"\x28\xb5\x2f\xfd"):
            openers = [_open_zstd]
        self._opener = openers[0] if openers else None
        self.is_plain = self._kept is None and not openers

    def open(self):
        """A fresh binary stream of the whole content."""
        return self._opener(self._raw()) if self._opener else self._raw()

    def text(self, encoding):
        """A fresh stream of its text, the ends of lines as they are."""
        encoding = "utf-8-sig" if encoding == "utf-8" else encoding
        return io.TextIOWrapper(self.open(), encoding=encoding, newline="")

    def head(self, size):
        """The first bytes.

        Raises
        ------
        ValueError
            If the compression is damaged there.
        """
        with self.guarded(), self.open() as stream:
            return stream.read(size)

    @contextmanager
    def guarded(self):
        """Raise ValueError where reading fails because the compression is damaged."""
        try:
            yield
        except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            raise ValueError(
                f"{self.name} is damaged: its compressed content cannot be read ({error})."
            ) from None

    def _raw(self):
        if self._kept is not None:
            return io.BytesIO(self._kept)
        try:
            return open(self.path, "rb")
        except FileNotFoundError:
            raise ValueError(f"there is no file {self.name}.") from None
        except OSError as error:
            raise ValueError(f"cannot read {self.name}: {error.strerror or error}.") from None


def _open_zstd(raw):
    import pyarrow as pa

    return pa.CompressedInputStream(raw, "zstd")


def expanded(paths):
    """Paths with folders and patterns replaced by the files that they name, in order, each once.

    Parameters
    ----------
    paths : str, path-like or list of them

    Raises
    ------
    ValueError
        If a folder or a pattern names no file.
    """
    files = []
    for path in map(str, [paths] if isinstance(paths, (str, os.PathLike)) else paths):
        place = Path(path)
        found = [place]
        if place.is_dir():
            found = place.rglob("[!._]*")
        elif any(sign in path for sign in "*?[") and not place.exists():
            found = Path(place.anchor).glob(str(place.relative_to(place.anchor)))
        found = sorted(str(file) for file in found if file is place or file.is_file())
        if not found:
            raise ValueError(f"{path!r} names no file; give a file, a folder or a pattern.")
        files += [path] if found == [str(place)] else found
    return list(dict.fromkeys(files))
