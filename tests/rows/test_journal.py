"""Checkpoints: a fit that was killed ends at the same bits, and foreign ones are refused."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from entropic import EntropicClassifier
from entropic.rows import journal, parts, stream
from entropic.rows.journal import Journal

SCRIPT = """
import sys, time
import numpy as np
from entropic import EntropicClassifier
from entropic.rows import stream

stream.PART_ENTRIES = 300
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = X[:, 0] + X[:, 1] ** 2 + rng.logistic(size=400) > 1

def batches():
    for start in range(0, 400, 100):
        time.sleep(float(sys.argv[2]))
        yield X[start : start + 100], y[start : start + 100]

print("begun", flush=True)
model = EntropicClassifier(2, class_weight="balanced").fit_batches(batches, checkpoint=sys.argv[1])
print(model.coef_.tobytes().hex(), model.band_, model.n_sweeps_)
"""


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    return [(X[i : i + 50], X[i : i + 50, 0] > 0.1 * i / 50) for i in range(0, 200, 50)]


class Stopped(Exception):
    pass


def stop_after(monkeypatch, n_passes):
    """Let the pass after so many fail, as an exception in a batch would; count passes."""
    made = []
    run = parts.LocalParts.run

    def counted(self, task):
        if len(made) == n_passes:
            raise Stopped
        made.append(type(task).__name__)
        return run(self, task)

    monkeypatch.setattr(parts.LocalParts, "run", counted)
    return made


def test_every_pass_is_made_once(tmp_path, monkeypatch):
    """Stopped at each pass in turn, every call makes one pass more than the survey."""
    whole = EntropicClassifier(2).fit_batches(rows())
    path, n_calls = tmp_path / "checkpoint", 0
    while True:
        made = stop_after(monkeypatch, 2)
        try:
            model = EntropicClassifier(2).fit_batches(rows(), checkpoint=path)
            break
        except Stopped:
            n_calls += 1
            assert made[0] == "Survey" and path.exists()
        finally:
            monkeypatch.undo()
    assert n_calls > 6
    assert np.array_equal(model.coef_, whole.coef_) and model.band_ == whole.band_
    assert np.array_equal(model.calibration_, whole.calibration_)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_killed_at_any_moment(tmp_path):
    """The resumed fit has the bits of one that was never interrupted."""

    def start(name, pause):
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, tmp_path / name, str(pause)],
            stdout=subprocess.PIPE,
            text=True,
        )

    whole = start("whole", 0).communicate()[0].splitlines()[1]
    rng = np.random.default_rng(0)
    for _ in range(3):
        process = start("killed", 0.02)
        assert process.stdout.readline() == "begun\n"
        time.sleep(rng.uniform(0.1, 0.9))
        process.kill()
        process.wait()
    process = start("killed", 0)
    assert process.communicate()[0].splitlines()[1] == whole
    assert os.listdir(tmp_path) == []


def begun(path, monkeypatch, **settings):
    stop_after(monkeypatch, 4)
    with pytest.raises(Stopped):
        EntropicClassifier(**settings).fit_batches(rows(), checkpoint=path)
    monkeypatch.undo()


def test_other_options_and_other_data_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    begun(path, monkeypatch)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"'.*checkpoint' is of a fit with degree=1, not 2"):
        EntropicClassifier(2).fit_batches(rows(), checkpoint=path)
    with pytest.raises(ValueError, match="of other data: as many rows that are not these 200"):
        EntropicClassifier().fit_batches(rows(1), checkpoint=path)
    with pytest.raises(ValueError, match="of other data: 200 rows that are not these 150"):
        EntropicClassifier().fit_batches(rows()[:3], checkpoint=path)
    assert path.read_bytes() == content
    # what changes nothing of the result may be others
    model = EntropicClassifier(n_jobs=1, verbose=0).fit_batches(rows(), checkpoint=path)
    assert np.array_equal(model.coef_, EntropicClassifier().fit_batches(rows()).coef_)


def test_a_record_cut_short_or_damaged_is_left_out(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    whole = EntropicClassifier().fit_batches(rows())
    begun(path, monkeypatch)
    content = path.read_bytes()
    n_records = len(journal._records(content)[0])
    damaged = bytearray(content)
    damaged[-3] ^= 1
    for rest in (content[:-1], content[:-20], content + b"\x07\x00", bytes(damaged)):
        path.write_bytes(rest)
        assert len(journal._records(rest)[0]) >= n_records - 1
        model = EntropicClassifier().fit_batches(rows(), checkpoint=path)
        assert np.array_equal(model.coef_, whole.coef_) and not path.exists()


def test_other_files_are_never_touched(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("precious")
    with pytest.raises(ValueError, match="is not a checkpoint of entropic"):
        EntropicClassifier().fit_batches(rows(), checkpoint=path)
    assert path.read_text() == "precious"
    with pytest.raises(ValueError, match="there is no directory"):
        Journal(None, tmp_path / "none" / "checkpoint", {})


def test_labels_of_any_kind_are_told_apart(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    words = [(X, np.where(y, "b", "a").astype(object)) for X, y in rows()]
    stop_after(monkeypatch, 3)
    with pytest.raises(Stopped):
        EntropicClassifier().fit_batches(words, checkpoint=path)
    monkeypatch.undo()
    renamed = [(X, np.where(y == "b", "c", "a").astype(object)) for X, y in words]
    with pytest.raises(ValueError, match="of other data"):
        EntropicClassifier().fit_batches(renamed, checkpoint=path)
    model = EntropicClassifier().fit_batches(words, checkpoint=path)
    assert model.classes_.tolist() == ["a", "b"]


def test_small_batches_are_put_together(monkeypatch):
    """A part is put together of small batches up to its size, and large ones are left whole."""
    monkeypatch.setattr(stream, "PART_ENTRIES", 40)
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 2
    batches = [(X[a:b], y[a:b]) for a, b in ((0, 1), (1, 3), (3, 28), (28, 30))]
    found = list(stream.Batches(batches).parts(lambda y: (y.astype(np.int8), ())))
    assert [len(part.codes) for part in found] == [3, 25, 2]
    assert np.shares_memory(found[1].X, X)
    assert np.array_equal(np.concatenate([part.X for part in found]), X)
