"""Models on disk: a skops file that holds plain data and the project's own types, no pickle.

A file is read in three guarded steps. Its zip entries must be stored, not compressed, and whole
(so that a small file cannot grow, and a damaged one is noticed). Its schema may name only the
types listed here. What comes out must be a fitted classifier whose numbers fit together.
"""

from __future__ import annotations

import copy
import io
import json
import warnings
import zipfile

import numpy as np
import scipy.sparse as sp

from .files import read_bytes, write_whole

OWN_TYPES = {
    "entropic.classifier": {"EntropicClassifier"},
    "entropic.command.encoding": {"TableEncoder", "IndexedEncoder", "NumberColumn", "WordColumn"},
    "entropic.command.labels": {"Labels"},
    "entropic.features.monomials": {"Monomials"},
    "entropic.command.preprocessing": {"Preprocessing"},
    "entropic.model_selection": {"EntropicClassifierCV"},
}
PLAIN_TYPES = {
    "builtins": {"dict", "list", "tuple", "str", "int", "float", "bool", "NoneType", "type"},
    "numpy": {
        "ndarray",
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        *("float16", "float32", "float64", "bool", "bool_", "str_"),
    },
}
LOADERS = {"ObjectNode", "DictNode", "ListNode", "TupleNode", "JsonNode", "NdArrayNode", "TypeNode"}


def save(classifier, path):
    """Write a fitted classifier to a file; see ``EntropicClassifier.save``."""
    import skops.io
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(classifier)
    classifier = copy.copy(classifier)
    classifier.callback = None  # code; predictions do not need it
    try:
        content = skops.io.dumps(classifier)
        _check_types(_schema(content))
    except Exception as error:
        raise ValueError(f"the model cannot be saved: {_first_line(error)}.") from error
    write_whole(path, content)


def load_model(path):
    """Read a classifier that ``EntropicClassifier.save`` or the command wrote.

    Predictions are those of the saved model bit by bit. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    EntropicClassifier
        One that the command saved also has ``preprocessing_``, which turns rows of a file
        into rows of a matrix.

    Raises
    ------
    ValueError
        If there is no such file, or it is damaged, foreign, or holds anything but a model.
    """
    content = read_bytes(path)
    if not content.startswith(b"PK"):
        raise ValueError(f"{str(path)!r} is not a model file of entropic.")
    import skops.io

    trusted = [f"{module}.{name}" for module, names in OWN_TYPES.items() for name in names]
    try:
        _check_types(_schema(content))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier = skops.io.loads(content, trusted=trusted)
            _check_model(classifier)
    # A hostile file can make any step of the reading fail in any way.
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} is a damaged or foreign model file ({_first_line(error)})."
        ) from error
    return classifier


def _first_line(error):
    return (str(error).splitlines() or [""])[0].rstrip(".") or type(error).__name__


def _schema(content):
    """The schema of a skops file whose entries are whole and not compressed."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in file.infolist()):
            raise ValueError("an entry is compressed")
        if sum(entry.file_size for entry in file.infolist()) > len(content):
            raise ValueError("entries overlap")
        if (broken := file.testzip()) is not None:
            raise ValueError(f"the entry {broken!r} is damaged")
        return json.loads(file.read("schema.json"))


def _check_types(schema):
    """Refuse a schema that names any type or loader that is not listed above."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            todo.extend(node.values())
            if "__loader__" in node or "__class__" in node or "__module__" in node:
                _check_node(node)


def _check_node(node):
    loader, module, name = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
    own = name in OWN_TYPES.get(module, ())
    plain = name in PLAIN_TYPES.get(module, ())
    if loader not in LOADERS or not (own if loader == "ObjectNode" else plain):
        raise ValueError(f"it holds {module}.{name} as {loader}, which no model needs")


def _check_model(model):
    """Refuse an object that is not a fitted classifier with numbers that fit together."""
    from .classifier import EntropicClassifier
    from .command.preprocessing import Preprocessing
    from .features.monomials import Monomials
    from .model_selection import EntropicClassifierCV

    if type(model) not in (EntropicClassifier, EntropicClassifierCV):
        raise ValueError("it holds no EntropicClassifier")
    model._check_parameters()
    classes, coef, intercept = model.classes_, model.coef_, model.intercept_
    if not all(isinstance(array, np.ndarray) for array in (classes, coef, intercept)):
        raise ValueError("its coefficients are no arrays")
    if classes.ndim != 1 or len(classes) < 2 or coef.ndim != 2 or intercept.ndim != 1:
        raise ValueError("its coefficients have the wrong shape")
    if len(coef) != len(intercept) or not isinstance(model.n_features_in_, int):
        raise ValueError("its coefficients have the wrong shape")
    if len(coef) != (1 if len(classes) == 2 else len(classes)):
        raise ValueError("its classes do not fit its coefficients")
    if type(model.monomials_) is not Monomials:
        raise ValueError("its monomials are of another type")
    model.monomials_.check(model.n_features_in_, coef.shape[1])
    scores = model.decision_function(sp.csr_array((1, model.n_features_in_)))
    if not np.isfinite(scores).all():
        raise ValueError("its coefficients are not finite")
    if np.isnan(np.asarray(model.band_, dtype=np.float64)).any():
        raise ValueError("its band is not a number")
    curve = model.calibration_
    if not isinstance(curve, np.ndarray) or curve.ndim != 2 or len(curve) != 2:
        raise ValueError("its calibration has the wrong shape")
    if not (np.all(np.diff(curve) >= 0) and curve[1, 0] > 0 and curve[1, -1] < 1):
        raise ValueError("its calibration is not a rising frequency")
    preprocessing = getattr(model, "preprocessing_", None)
    if preprocessing is not None:
        if type(preprocessing) is not Preprocessing:
            raise ValueError("its preprocessing is of another type")
        preprocessing.check(model)
