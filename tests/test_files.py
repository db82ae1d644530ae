"""Files are written whole or not at all, whoever else writes or dies meanwhile."""

import os
import signal

import pytest

from entropic.files import write_whole

pytestmark = pytest.mark.backend_free


def killed_while_writing(path):
    """Start to write a file in a child process that is killed before it is whole."""
    child = os.fork()
    if child == 0:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        write_whole(path, b"half")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_while_saving(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "model"
    write_whole(path, b"old")
    for _ in range(5):
        killed_while_writing(path)
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 2  # one is left, of the last
    write_whole(path, b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def test_two_who_save_at_once_do_not_meet(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    path, other = tmp_path / "model", tmp_path / ".model.part"
    with open(other, "wb") as file:  # another process, in the middle of its writing
        file.write(b"theirs")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(path, b"ours")
        assert path.read_bytes() == b"ours" and other.read_bytes() == b"theirs"
    target = tmp_path / "elsewhere"
    other.unlink()
    other.symlink_to(target)  # nothing is written through a link that someone has laid there
    write_whole(path, b"again")
    assert path.read_bytes() == b"again" and not target.exists()
