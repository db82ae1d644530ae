"""What is no model file of ours: damaged, foreign and hostile files are one clear error."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from saved_models import data, same
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from entropic import EntropicClassifier, __version__, load_model
from entropic.model_format import FORMAT


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
