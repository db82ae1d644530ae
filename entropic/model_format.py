"""The format of model files: plain data and the project's own types under stable names, no pickle.

A file is what skops writes, with three differences: the project's types have names that say nothing
of where a class lives, the file states the format and the version it is of, and equal models make
equal bytes. It is read in three guarded steps. Its zip entries must be stored, not compressed, and
whole (so that a small file cannot grow, and a damaged one is noticed). Its schema may name only
registered types and plain ones, and says everything once (so that nothing in it can multiply).
What comes out must pass the checks of its own classes.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile

from ._version import __version__
from .files import read_bytes, write_whole

# Raised when a file can no longer be read by the versions before. Format 0 named the modules of
# its time and stated neither format nor version.
FORMAT = 1
PLAIN_TYPES = {
    "builtins": {"dict", "list", "tuple", "str", "int", "float", "bool", "NoneType", "type"},
    "numpy": {
        "ndarray",
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        *("float16", "float32", "float64", "bool", "bool_", "str_"),
    },
}
LOADERS = {"DictNode", "ListNode", "TupleNode", "JsonNode", "NdArrayNode", "TypeNode"}
# What attributes of format 0 are called now.
RENAMED = {
    "EntropicClassifier": {"gap_": "dual_gap_"},
    "EntropicClassifierCV": {"gap_": "dual_gap_"},
    "Monomials": {"include_constant": "include_bias", "factor_": "inverse_scale_"},
}

_classes: dict[str, type] = {}


def stored(name):
    """Let instances of a class be part of a model file, under a name that never changes."""

    def register(cls):
        _classes[name] = cls
        return cls

    return register


class _NewerFormat(ValueError):
    pass


def save(model, path):
    """Write an object of registered types and plain data to a file, whole or not at all.

    Raises
    ------
    ValueError
        If the place cannot be written to, or the object holds anything else.
    """
    import skops.io

    names = {(cls.__module__, cls.__name__): name for name, cls in _classes.items()}
    try:
        schema, arrays = _unpacked(skops.io.dumps(model))
        for node in _nodes(schema):
            name = names.get((node["__module__"], node["__class__"]))
            if name is not None:
                node["__module__"], node["__class__"] = "entropic", name
            _check_node(node)
        schema["entropic"] = {"format": FORMAT, "version": __version__}
        content = _packed(schema, arrays)
    except Exception as error:
        raise ValueError(f"the model cannot be saved: {_first_line(error)}.") from error
    write_whole(path, content)


def load(path, kind):
    """Read what ``save`` wrote: an object of a class, as its ``_check_loaded`` lets it pass.

    Raises
    ------
    ValueError
        If there is no such file, or it is damaged, foreign, of a newer format, or of another class.
    """
    content = read_bytes(path)
    if not content.startswith(b"PK"):
        raise ValueError(f"{str(path)!r} is not a model file of entropic.")
    import skops.io

    try:
        schema, arrays = _unpacked(content)
        form = _form(schema.pop("entropic", {"format": 0, "version": "0"}), path)
        for node in _nodes(schema):
            if form == 0:
                _modernise(node)
            _check_node(node)
            if node["__module__"] == "entropic":
                cls = _classes[node["__class__"]]
                node["__module__"], node["__class__"] = cls.__module__, cls.__name__
        trusted = [f"{cls.__module__}.{cls.__name__}" for cls in _classes.values()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = skops.io.loads(_packed(schema, arrays), trusted=trusted)
            if not isinstance(model, kind):
                raise ValueError(f"it holds no {kind.__name__}")
            model._check_loaded()
    except _NewerFormat:
        raise
    # A hostile file can make any step of the reading fail in any way.
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} is a damaged or foreign model file ({_first_line(error)})."
        ) from error
    return model


def _first_line(error):
    return (str(error).splitlines() or [""])[0].rstrip(".") or type(error).__name__


def _unpacked(content):
    """The schema of a skops file whose entries are whole and not compressed, and the arrays."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in file.infolist()):
            raise ValueError("an entry is compressed")
        if sum(entry.file_size for entry in file.infolist()) > len(content):
            raise ValueError("entries overlap")
        # reading an entry to its end compares its checksum
        arrays = {entry.filename: file.read(entry) for entry in file.infolist()}
    return json.loads(arrays.pop("schema.json")), arrays


def _packed(schema, arrays):
    """A skops file in which only an array's bytes are shared, and equal content is equal bytes.

    skops knows objects again by an id that the file states: nodes that hold each other twice a
    level would be walked 2^depth times. Without ids the walk is as long as the schema.
    """
    numbers = {}
    for node in _nodes(schema):
        node.pop("__id__", None)
        if "file" in node:
            number = numbers.setdefault(node["file"], len(numbers) + 1)
            node["file"], node["__id__"] = f"{number}.npy", number
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:  # stored; ZipInfo has no time of its own
        for name, number in numbers.items():
            file.writestr(zipfile.ZipInfo(f"{number}.npy"), arrays[name])
        file.writestr(zipfile.ZipInfo("schema.json"), json.dumps(schema))
    return out.getvalue()


def _form(stated, path):
    """The format that a file states, unless it is newer than this package."""
    form, version = stated["format"], stated["version"]
    if type(form) is not int or not isinstance(version, str):
        raise ValueError("its format is damaged")
    if form > FORMAT:
        raise _NewerFormat(
            f"{str(path)!r} is a model file of format {form}, written by entropic "
            f"{version[:20]}; entropic {__version__} reads formats up to {FORMAT}, so update it."
        )
    return form


def _nodes(schema):
    """Every part of a schema that stands for an object."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo.extend(node)
        elif isinstance(node, dict):
            todo.extend(node.values())
            if not node.keys().isdisjoint(("__loader__", "__class__", "__module__")):
                yield node


def _modernise(node):
    """Give a node of format 0 today's names."""
    module, name = node["__module__"], node["__class__"]
    if module.startswith("entropic.") and name in _classes:
        node["__module__"] = "entropic"
        attributes = node["content"]["content"]
        new = {RENAMED.get(name, {}).get(key, key): value for key, value in attributes.items()}
        node["content"]["content"] = new


def _check_node(node):
    """Refuse a node of a type or loader that no model needs."""
    loader, module, name = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
    if loader == "ObjectNode":
        known = module == "entropic" and name in _classes
    else:
        known = loader in LOADERS and name in PLAIN_TYPES.get(module, ())
    if not known:
        raise ValueError(f"it holds {module}.{name} as {loader}, which no model needs")
