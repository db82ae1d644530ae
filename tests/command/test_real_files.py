"""Every real file of the collection reads as its index says: rows, columns, classes, missing."""

from collections import Counter

import numpy as np
import pytest
import real_data
from whole_tables import Whole, read

pytestmark = pytest.mark.backend_free

# file, position of the labels, rows, columns without the labels, classes, missing cells
TABLES = [
    ("adult/adult.data", -1, 32561, 14, {"<=50K": 24720, ">50K": 7841}, 4262),
    ("adult/adult.test", -1, 16281, 14, {"<=50K.": 12435, ">50K.": 3846}, 2203),
    ("banknote/data_banknote_authentication.txt", -1, 1372, 4, {"0": 762, "1": 610}, 0),
    (
        "breast_cancer_wisconsin_original/breast-cancer-wisconsin.data",
        -1, 699, 10, {"2": 458, "4": 241}, 16,
    ),
    ("german_numeric/german.data-numeric", -1, 1000, 24, {"1": 700, "2": 300}, 0),
    ("haberman/haberman.data", -1, 306, 3, {"1": 225, "2": 81}, 0),
    (
        "heart_cleveland/processed.cleveland.data",
        -1, 303, 13, {"0": 164, "1": 55, "2": 36, "3": 35, "4": 13}, 6,
    ),
    ("higgs_sample/binary.train", 0, 7000, 28, {"0": 3284, "1": 3716}, 0),
    ("higgs_sample/binary.test", 0, 500, 28, None, 0),
    ("ionosphere/ionosphere.data", -1, 351, 34, {"b": 126, "g": 225}, 0),
    ("keel_banana/banana.dat", -1, 5300, 2, {"-1.0": 2924, "1.0": 2376}, 0),
    ("letter/letter.arff", -1, 20000, 16, None, 0),
    ("magic/magic04.data", -1, 19020, 10, {"g": 12332, "h": 6688}, 0),
    ("mammography/mammography.csv", -1, 11183, 6, {"-1": 10923, "1": 260}, 0),
    ("mushroom/agaricus-lepiota.data", 0, 8124, 22, {"e": 4208, "p": 3916}, 2480),
    ("oil_spill/oil-spill.csv", -1, 937, 49, {"0": 896, "1": 41}, 0),
    ("phishing_uci/phishing.csv", -1, 11055, 30, None, 0),
    ("phoneme/phoneme.csv", -1, 5404, 5, {"0": 3818, "1": 1586}, 0),
    ("sonar/sonar.all-data", -1, 208, 60, {"M": 111, "R": 97}, 0),
    ("spambase/spambase.data", -1, 4601, 57, {"0": 2788, "1": 1813}, 0),
    ("transfusion/transfusion.data", -1, 748, 4, {"0": 570, "1": 178}, 0),
    ("wdbc/wdbc.data", 1, 569, 31, {"B": 357, "M": 212}, 0),
    ("wine_quality/winequality-red.csv", -1, 1599, 11, None, 0),
]  # fmt: skip
CLASSES = {"letter": 26, "wine_quality": 6, "phishing_uci": 2, "higgs_sample": 2}
WITH_HEADER = {"letter", "transfusion", "wine_quality"}


@pytest.mark.parametrize(
    "name, target, n_rows, n_columns, classes, missing", TABLES, ids=[row[0] for row in TABLES]
)
def test_tables(name, target, n_rows, n_columns, classes, missing):
    path = real_data.path(name)
    names = read([path]).names
    label = names[target]
    features = [name for name in names if name != label]
    table = read([path], select={"features": features, "labels": [label]})
    assert (table.n_rows, len(table.names) - 1) == (n_rows, n_columns)
    counts = Counter(table.column(label).tolist())
    if classes is None:
        assert len(counts) == CLASSES[name.split("/")[0]]
    else:
        assert counts == classes
    columns = [table.column(feature) for feature in features]
    empty = (np.isnan(c) if c.dtype == np.float64 else c == "" for c in columns)
    assert sum(int(cells.sum()) for cells in empty) == missing
    assert table.source.header == (name.split("/")[0] in WITH_HEADER)
    assert table.source.notes == []


def test_words_and_numbers_are_told_apart():
    table = read([real_data.path("adult/adult.data")])
    words = [number for number, c in enumerate(table.columns, 1) if c.dtype != np.float64]
    assert words == [2, 4, 6, 7, 8, 9, 10, 14, 15]
    for name in ("mushroom/agaricus-lepiota.data", "ionosphere/ionosphere.data"):
        columns = read([real_data.path(name)]).columns
        n_words = sum(column.dtype != np.float64 for column in columns)
        assert n_words == {"mushroom": 23, "ionosphere": 1}[name.split("/")[0]]


@pytest.mark.parametrize(
    "name, n_rows, largest, classes",
    [
        ("a9a/a9a", 32561, 123, {"-1": 24720, "+1": 7841}),
        ("a9a/a9a.t", 16281, 122, {"-1": 12435, "+1": 3846}),
        ("agaricus_libsvm/agaricus.txt.train", 6513, 126, {"0": 3373, "1": 3140}),
        ("agaricus_libsvm/agaricus.txt.test", 1611, 126, {"0": 835, "1": 776}),
        ("heart_scale/heart_scale", 270, 13, {"-1": 150, "+1": 120}),
        ("rcv1_small/rcv1_small.train.svm.gz", 1000, 47117, {"-1": 541, "1": 459}),
        ("w8a/w8a", 49749, 300, {"-1": 48270, "+1": 1479}),
    ],
)
def test_indexed_rows(name, n_rows, largest, classes):
    rows = read([real_data.path(name)])
    assert not isinstance(rows, Whole)
    assert rows.matrix.shape == (n_rows, largest + 1)
    counts = Counter(rows.labels.tolist())
    assert sum(counts.values()) == n_rows and set(counts) == set(classes)
    assert counts == classes
