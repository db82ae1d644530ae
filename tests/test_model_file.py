"""Models on disk: they come back bit by bit."""

import gzip
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from saved_models import data, same
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier, EntropicClassifierCV, load_model
from entropic.command.source import open_source
from entropic.model_format import FORMAT, _classes

# What the versions that wrote models/format*.entropic.gz said of two rows.
EXPECTED = {
    0: [0.1615054355045782, 0.1932412402571295],
    1: [0.20550515047948803, 0.29095971010980115],
}


@pytest.mark.parametrize(
    "labels",
    [
        (0, 1),
        (-1.0, 2.0),
        (False, True),
        ("<=50K", ">50K"),
        np.array(["grün", "日本"], dtype=object),
        np.array([3, 250], dtype=np.uint8),
        np.array(["2020-01", "2021-07"], dtype="M8[M]"),
    ],
    ids=lambda labels: type(labels[0]).__name__,
)
def test_predictions_are_the_same_bit_by_bit(tmp_path, labels):
    X, y = data(labels)
    model = EntropicClassifier().fit(X, y)
    model.save(tmp_path / "model")
    same(load_model(tmp_path / "model"), model, X)


@pytest.mark.parametrize(
    "parameters",
    [
        dict(degree=2),
        dict(degree=3, interaction_only=True, fit_intercept=False),
        dict(standardize=False, bound=3, C=np.float64(2), max_iter=np.int64(50)),
        dict(class_weight={0: 1.0, 1: 2.5}),
        dict(monotonic_cst=[0, 1, 0, -1, 0], constraint="inequality"),
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_every_kind_of_model_can_be_kept(tmp_path, parameters):
    X, y = data()
    model = EntropicClassifier(**parameters).fit(X, y)
    model.save(tmp_path / "model")
    same(load_model(tmp_path / "model"), model, X)


def test_names_of_features_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = data()
    X = pd.DataFrame(X, columns=list("abcde"))
    model = EntropicClassifier().fit(X, y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list("abcde")
    same(loaded, model, X)


def test_the_callback_is_left_out_and_stays_with_the_model(tmp_path):
    def callback(figures):
        return False

    X, y = data()
    model = EntropicClassifier(callback=callback).fit(X, y)
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").callback is None
    assert model.callback is callback


@pytest.mark.parametrize("cv", [3, KFold(3), StratifiedKFold(4, shuffle=True, random_state=1)])
def test_a_search_is_kept_with_its_folds(tmp_path, cv):
    X, y = data()
    model = EntropicClassifierCV((1,), (1.0,), slacks=(0.1,), cv=cv).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert repr(loaded) == repr(model) and loaded.best_params_ == model.best_params_
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_folds_that_are_code_are_left_out_with_a_warning(tmp_path):
    class Folds(KFold):
        pass

    X, y = data()
    for cv in (Folds(3), KFold(3, shuffle=True, random_state=np.random.RandomState(0)),
               iter(list(KFold(3).split(X)))):  # fmt: skip
        model = EntropicClassifierCV((1,), (1.0,), slacks=(0.1,), cv=cv).fit(X, y)
        with pytest.warns(UserWarning, match=r"cv, of type .* was not saved: predictions"):
            model.save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert loaded.cv is None and model.cv is cv
        assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
        with pytest.raises(ValueError, match="cannot write"):
            model.save(tmp_path / "absent" / "model")


def test_names_in_a_file_say_nothing_of_where_classes_live(tmp_path):
    EntropicClassifier(degree=2).fit(*data()).save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as file:
        own, todo = set(), [json.loads(file.read("schema.json"))]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            own.add(f"{node.get('__module__')}.{node.get('__class__')}")
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    own = {name for name in own if name.startswith("entropic")}
    assert own == {"entropic.EntropicClassifier", "entropic.Monomials"}


def test_every_class_that_a_file_may_hold_has_the_name_it_was_given():
    assert set(_classes) == {
        "EntropicClassifier", "EntropicClassifierCV", "LinearSplines", "Monomials", "Preprocessing",
        "Labels", "Dialect", "TableEncoder", "IndexedEncoder", "NumberColumn", "WordColumn",
        "GroupKFold", "KFold",
        "LeaveOneOut", "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold",
        "StratifiedShuffleSplit", "TimeSeriesSplit",
    }  # fmt: skip


def test_equal_models_make_equal_files(tmp_path):
    X, y = data()
    for name in "ab":
        EntropicClassifier(degree=2).fit(X, y).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_process_that_imported_nothing_else_loads_a_model(tmp_path):
    EntropicClassifier().fit(*data(("a", "b"))).save(tmp_path / "model")
    script = "import sys, entropic; print(entropic.load_model(sys.argv[1]).classes_)"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model")], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("['a' 'b']\n", "")


def test_there_is_a_file_of_every_format():
    assert sorted(EXPECTED) == list(range(FORMAT + 1))


@pytest.mark.parametrize("form", EXPECTED)
def test_a_file_of_an_earlier_version_gives_its_predictions(tmp_path, form):
    """Format 0 stated no format; its classes lived elsewhere and had other names.

    That of format 1 was written before there were several classes, splines and scaled coefficients.
    """
    with gzip.open(Path(__file__).parent / "models" / f"format{form}.entropic.gz") as file:
        (tmp_path / "model").write_bytes(file.read())
    model = load_model(tmp_path / "model")
    assert model.get_params().keys() == EntropicClassifier().get_params().keys()
    rows = tmp_path / "rows.csv"
    rows.write_text("size,colour\n0.13,blue\n-0.54,red\n")
    encoder = model.preprocessing_.encoder
    source = open_source([rows], encoder.reading, encoder.known)
    encoder.select(source)
    X = encoder.matrix(source.table())
    assert model.decision_function(X) == pytest.approx(EXPECTED[form], rel=1e-12)
    assert str(model.summary())
    model.save(tmp_path / "again")
    same(load_model(tmp_path / "again"), model, X)


def test_users_can_keep_pipelines_with_skops(tmp_path):
    X, y = data()
    model = make_pipeline(StandardScaler(), EntropicClassifier()).fit(X, y)
    content = skops.io.dumps(model)
    loaded = skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        EntropicClassifier().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written_to(tmp_path):
    X, y = data()
    model = EntropicClassifier().fit(X, y)
    for place in (tmp_path, tmp_path / "absent" / "model"):
        with pytest.raises(ValueError, match="cannot write"):
            model.save(place)
    assert not list(tmp_path.iterdir())


def test_a_model_takes_another_ones_place_whole_or_not_at_all(tmp_path, monkeypatch):
    X, y = data()
    model = EntropicClassifier().fit(X, y)
    path = tmp_path / "model"
    model.save(path)
    os.chmod(path, 0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ValueError, match="No space left on device"):
        model.save(path)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "model"]
