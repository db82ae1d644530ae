"""The real tables that classifiers are compared on: read, encoded and cut to a common size.

The files lie where tests/real_data.py says. They are read here by pandas and not by the command,
so that every classifier is given the same plain matrix: words become one column each, a missing
number becomes its column's median.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from real_data import path

MOST_ROWS = 2000


class Source(NamedTuple):
    """Where a table lies, which column holds the labels, and which of them are positive."""

    file: str
    positive: tuple = ("1",)
    label: int = -1
    reading: Mapping = MappingProxyType({})
    left_out: tuple = ()


SPACED = {"sep": r"\s+"}
SOURCES = {
    "adult": Source("adult/adult.data", (">50K",)),
    "banknote": Source("banknote/data_banknote_authentication.txt"),
    "breast cancer (original)": Source(
        "breast_cancer_wisconsin_original/breast-cancer-wisconsin.data", ("4",), left_out=(0,)
    ),
    "german": Source("german_numeric/german.data-numeric", ("2",), reading=SPACED),
    "haberman": Source("haberman/haberman.data", ("2",)),
    "heart (Cleveland)": Source("heart_cleveland/processed.cleveland.data", tuple("1234")),
    "heart (scaled)": Source("heart_scale/heart_scale"),
    "higgs": Source("higgs_sample/binary.train", label=0, reading={"sep": "\t"}),
    "ionosphere": Source("ionosphere/ionosphere.data", ("g",)),
    "banana": Source("keel_banana/banana.dat", ("1.0",)),
    "letter A-M": Source("letter/letter.arff", tuple("ABCDEFGHIJKLM")),
    "magic": Source("magic/magic04.data", ("g",)),
    "mammography": Source("mammography/mammography.csv", ("'1'",)),
    "mushroom": Source("mushroom/agaricus-lepiota.data", ("p",), label=0),
    "oil spill": Source("oil_spill/oil-spill.csv"),
    "phishing": Source("phishing_uci/phishing.csv"),
    "phoneme": Source("phoneme/phoneme.csv"),
    "sonar": Source("sonar/sonar.all-data", ("M",)),
    "spambase": Source("spambase/spambase.data"),
    "transfusion": Source("transfusion/transfusion.data", reading={"header": 0}),
    "wdbc": Source("wdbc/wdbc.data", ("M",), label=1, left_out=(0,)),
    "wine": Source(
        "wine_quality/winequality-red.csv", tuple("678"), reading={"sep": ";", "header": 0}
    ),
}


def load(name, most_rows=MOST_ROWS):
    """A set's rows as a matrix, and its labels as 0 and 1.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    most_rows : int
        Larger sets are cut to so many rows, drawn once and in proportion to the classes.

    Returns
    -------
    X : float array of shape (n_samples, n_features)
    y : int array of shape (n_samples,)
    """
    source = SOURCES[name]
    place = path(source.file)
    if source.file == "heart_scale/heart_scale":
        X, y = load_svmlight_file(str(place))
        X, y = X.toarray(), (y > 0).astype(int)
    else:
        X, y = _table(place, source)
    if len(y) > most_rows:
        X, _, y, _ = train_test_split(X, y, train_size=most_rows, stratify=y, random_state=0)
    return X, y


def _table(place, source):
    options = {"header": None, "sep": ",", **source.reading}
    cells = pd.read_csv(place, dtype=str, comment="@", keep_default_na=False, **options)
    cells = cells.apply(lambda column: column.str.strip())
    label = cells.columns[source.label]
    positive = cells[label].isin(source.positive)
    columns = {}
    for name in cells.columns.drop([label, *cells.columns[list(source.left_out)]]):
        column = cells[name]
        numbers = pd.to_numeric(column.where(column != "?"), errors="coerce")
        if numbers.notna().sum() == (column != "?").sum():
            columns[name] = numbers.fillna(numbers.median())
        else:
            columns.update({(name, word): column == word for word in sorted(set(column))})
    X = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()])
    return X, positive.to_numpy(dtype=int)
