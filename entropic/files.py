"""Bytes in, bytes out, by writes that leave a whole file or none."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where a killed process may leave a file a time
    fcntl = None  # type: ignore[assignment]


def read_bytes(path):
    """The content of a file as it is.

    Raises
    ------
    ValueError
        If there is no such file, or it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"there is no file {str(path)!r}.") from None
    except OSError as error:
        raise ValueError(f"cannot read {str(path)!r}: {error.strerror or error}.") from None


def check_writable(path):
    """Refuse early what ``write_whole`` would refuse late."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: it is a directory.")
    folder = target.parent
    if not folder.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: there is no directory {str(folder)!r}.")
    if not os.access(target if target.exists() and not target.is_file() else folder, os.W_OK):
        raise ValueError(f"cannot write {str(path)!r}: permission denied.")


def write_whole(path, content):
    """Write bytes so that the file has all of them or stays as it was.

    Raises
    ------
    ValueError
        If the place cannot be written to.
    """
    with whole_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path):
    """A binary file to write to, which takes the place of the path once all is written.

    A temporary file beside the target takes its place in one step. Pipes and devices, which
    have no such step, are written to directly.

    Raises
    ------
    ValueError
        If the place cannot be written to.
    """
    check_writable(path)
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with open(target, "wb") as file:
                yield file
            return
        handle, temporary = _beside(target)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, _mode(target))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None


def _beside(target):
    """A new, locked file beside the target: in the place of one that a killed process left, if any.

    Where another process is writing to that place, it is one of another name.
    """
    path = target.with_name(f".{target.name}.part")
    with contextlib.suppress(OSError, AttributeError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # it may have become the target of another process just before it was locked
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                os.ftruncate(handle, 0)
                return handle, path
        except OSError:
            pass
        os.close(handle)
    return tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)


def _mode(target):
    """The permissions that an ordinary write would leave."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
