"""Models on disk: they come back bit by bit, and nothing else comes in."""

import io
import json
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from entropic import EntropicClassifier, load_model


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
