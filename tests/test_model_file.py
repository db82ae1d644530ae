"""Models on disk: they come back bit by bit, and nothing else comes in."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import stat
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier, EntropicClassifierCV, __version__, load_model
from entropic.command.source import open_source
from entropic.model_format import FORMAT, _classes

# What the versions that wrote models/format*.entropic.gz said of two rows.
EXPECTED = {
    0: [0.1615054355045782, 0.1932412402571295],
    1: [0.20550515047948803, 0.29095971010980115],
}


def data(labels=(0, 1)):
    X, y = make_classification(80, 5, random_state=0)
    return X, np.array(labels)[y]


def same(loaded, model, X):
    assert loaded.get_params() == model.get_params()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.in_band(X).tolist() == model.in_band(X).tolist()


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


def schema_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return json.loads(file.read("schema.json"))


def test_names_in_a_file_say_nothing_of_where_classes_live(content):
    own, todo = set(), [schema_of(content)]
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


def test_a_process_that_imported_nothing_else_loads_a_model(tmp_path, content):
    (tmp_path / "model").write_bytes(content)
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


# ------------------------------------------------------ damaged, foreign, hostile


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    X, y = data(("a", "b"))
    EntropicClassifier(degree=2).fit(X, y).save(path)
    return path.read_bytes()


def refused(path, content, message="model file"):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def rewritten(content, change, compression=zipfile.ZIP_STORED):
    """The same file with its schema changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", compression) as new:
        for name in old.namelist():
            entry = old.read(name)
            if name == "schema.json":
                entry = json.dumps(change(json.loads(entry))).encode()
            new.writestr(name, entry)
    return out.getvalue()


class Canary:
    """Leaves a file behind if anything unpickles it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_files_of_other_kinds_are_refused(tmp_path, content):
    path = tmp_path / "model"
    with pytest.raises(ValueError, match="there is no file"):
        load_model(path)
    canary = str(tmp_path / "canary")
    array = io.BytesIO()
    np.save(array, np.array([Canary(canary)], dtype=object), allow_pickle=True)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("data.npy", array.getvalue())
    foreign = LogisticRegression().fit(*data())
    for other in (
        b"",
        b"not a model",
        pickle.dumps(Canary(canary)),
        array.getvalue(),
        packed.getvalue(),
        skops.io.dumps(foreign),
        skops.io.dumps({"model": 1}),
        skops.io.dumps(make_pipeline(EntropicClassifier()).fit(*data())),
        skops.io.dumps(EntropicClassifier()),
    ):
        refused(path, other)
    assert not os.path.exists(canary)


def test_pickled_arrays_within_a_model_are_refused(tmp_path, content):
    canary = str(tmp_path / "canary")
    hostile = io.BytesIO()
    np.save(hostile, np.array([Canary(canary)], dtype=object), allow_pickle=True)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, hostile.getvalue() if name.endswith(".npy") else old.read(name))
    refused(tmp_path / "model", out.getvalue())
    assert not os.path.exists(canary)


@pytest.mark.parametrize(
    "node",
    [
        {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
        {"__class__": "Popen", "__module__": "subprocess", "__loader__": "ObjectNode"},
        {"__class__": "system", "__module__": "os", "__loader__": "TypeNode"},
        {"__class__": "dict", "__module__": "builtins", "__loader__": "ObjectNode"},
        {"__class__": "eval", "__module__": "builtins", "__loader__": "FunctionNode"},
        {"__class__": "methodcaller", "__module__": "operator", "__loader__": "OperatorFuncNode"},
        {"__class__": "LogisticRegression", "__module__": "sklearn.linear_model._logistic",
         "__loader__": "ObjectNode"},
        {"__class__": "memmap", "__module__": "numpy", "__loader__": "NdArrayNode"},
        {"__class__": ["EntropicClassifier"], "__module__": {}, "__loader__": "ObjectNode"},
    ],
    ids=lambda node: str(node["__class__"]),
)  # fmt: skip
def test_types_that_no_model_needs_are_refused_before_anything_is_made(tmp_path, content, node):
    def change(schema):
        schema["content"]["content"]["callback"] = {"content": None, "__id__": 1, **node}
        return schema

    refused(tmp_path / "model", rewritten(content, change))


@pytest.mark.parametrize("start", [gzip.compress, lzma.compress, bz2.compress])
def test_compressed_files_are_refused_unread(tmp_path, start):
    path = tmp_path / "model"
    path.write_bytes(start(bytes(1 << 26)))
    tracemalloc.start()
    with pytest.raises(ValueError, match="is not a model file"):
        load_model(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_lists_that_share_ids_are_not_walked_again_and_again(tmp_path, content):
    def change(schema):
        node = {"content": "1", "is_json": True, "__class__": "str", "__module__": "builtins",
                "__loader__": "JsonNode", "__id__": 1}  # fmt: skip
        for depth in range(2, 200):
            again = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
                     "content": [], "__id__": depth - 1}  # fmt: skip
            node = {**again, "content": [node, again], "__id__": depth}
        schema["content"]["content"]["history_"] = node
        return schema

    path = tmp_path / "model"
    path.write_bytes(rewritten(content, change))
    # what a reader that goes by ids takes for 2^198 lists is 198 pairs, most of them empty
    assert len(load_model(path).history_) == 2


def test_a_newer_format_is_named(tmp_path, content):
    def change(schema):
        schema["entropic"] = {"format": FORMAT + 1, "version": "9.1"}
        return schema

    refused(
        tmp_path / "model",
        rewritten(content, change),
        f"format {FORMAT + 1}, written by entropic 9.1; entropic {__version__} reads formats up",
    )


@pytest.mark.parametrize(
    "name, value",
    [
        ("band_", (1.0,)),
        ("band_", (0.0, float("nan"))),
        ("band_", np.zeros(2)),
        ("conformal_", (1.0, 2.0, 3.0)),
        ("conformal_", ("low", "high")),
        ("calibration_", np.zeros(2)),
        ("calibration_", np.array([[0.0, 1.0], [0.9, 0.1]])),
        ("calibration_", np.array([["a"], ["b"]])),
        ("loo_decision_", np.zeros((2, 2))),
        ("coef_", np.zeros((2, 20))),
        ("coef_", np.zeros(20)),
        ("intercept_", np.zeros(2)),
        ("intercept_", np.array([np.inf])),
        ("classes_", np.array(["a", "b", "c"])),
        ("n_features_in_", 5.0),
        ("feature_names_in_", np.array(["a"], dtype=object)),
        ("monomials_", None),
        ("preprocessing_", 1),
        ("slack", -1.0),
    ],
)
def test_attributes_that_no_fit_leaves_are_refused(tmp_path, name, value):
    model = EntropicClassifier(degree=2).fit(*data(("a", "b")))
    assert model.coef_.shape == (1, 20)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="model file"):
        load_model(tmp_path / "model")


def test_compressed_entries_are_refused(tmp_path, content):
    refused(
        tmp_path / "model",
        rewritten(content, lambda schema: schema, zipfile.ZIP_DEFLATED),
        "compressed",
    )
    path = tmp_path / "model"
    path.write_bytes(rewritten(content, lambda schema: schema))
    load_model(path)  # unchanged and stored, it is good


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(tmp_path, content, keep):
    refused(tmp_path / "model", content[: int(keep * len(content))])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1))
def test_a_damaged_file_is_refused_or_the_model_it_was(tmp_path_factory, content, flips):
    path = tmp_path_factory.mktemp("damaged") / "model"
    damaged = bytearray(content)
    for place, flip in flips:
        damaged[int(place * len(damaged))] ^= flip
    path.write_bytes(damaged)
    try:
        model = load_model(path)
    except ValueError as error:
        assert str(path) in str(error)
    else:
        X, _ = data()
        whole = path.with_name("whole")
        whole.write_bytes(content)
        same(model, load_model(whole), X)


scalar = st.sampled_from(["null", "-1", "3", "1e400", '"x"', "NaN", "true", "[]", "1000000000000"])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_forged_value_is_one_clear_error_or_a_model_that_predicts(
    tmp_path_factory, content, draw
):
    def change(schema):
        state = schema["content"]["content"]
        name = draw.draw(st.sampled_from(sorted(set(state) - {"key_types"})))
        if draw.draw(st.booleans()):
            state.pop(name)
        else:
            state[name] = {
                "__class__": "str",
                "__module__": "builtins",
                "__loader__": "JsonNode",
                "content": draw.draw(scalar),
                "is_json": True,
                "__id__": -1,
            }
        return schema

    path = tmp_path_factory.mktemp("forged") / "model"
    path.write_bytes(rewritten(content, change))
    try:
        model = load_model(path)
    except ValueError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    else:
        assert np.isfinite(model.decision_function(data()[0])).all()
