"""Cases that other tools, or earlier states of this one, got wrong: where each is held right.

``CASES`` has the words of each and the tests of it; those that fit nowhere else are in this file.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from real_data import path as real_path
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from entropic import EntropicClassifier, EntropicClassifierCV, Monomials

CASES = {
    # what is learned
    "100 × 60, one column × 1e4, another + 1e4": "test_cases.py::test_columns_far_apart",
    "30 × 2 zeros, one entry 3.7e-208, balanced labels":
        "test_classifier.py::test_one_entry_below_the_range_of_squares",
    "sparse 10,000 × 120,006 with 4,800 nonzeros, degree 2":
        "test_polynomial.py::test_more_monomials_than_memory_where_rows_fill_few",
    "100 × 5, four classes, integer weights 0–9, class_weight balanced, against repeated rows":
        "test_cases.py::test_four_classes_of_integer_weights_are_repeated_rows",
    "large float32 CSR made read-only by a worker pool":
        "test_cases.py::test_read_only_rows_of_a_worker_pool",
    "6 calibration rows, α = 0.05":
        "uncertainty/test_conformal.py::test_six_rows_abstain_everywhere_and_say_how_many_it_takes",
    "features shifted far from 0 against centred": "test_cases.py::test_shifted_features",
    "entries 750–1000":
        "test_classifier.py::test_hard_columns_end_finite_certified_and_silent",
    "one feature of size 36, then 37":
        "uncertainty/test_probability.py::test_probabilities_on_both_sides_of_a_large_feature",
    "three classes, one with only zero weights":
        "test_several_classes.py::test_a_class_without_weight_is_named",
    "small CSR with int64 indices; big-endian float64":
        "test_inputs.py::test_every_legal_input_gives_the_plain_arrays_model",
    "CSR unsorted, with duplicates and explicit zeros":
        "test_inputs.py::test_every_legal_input_gives_the_plain_arrays_model",
    "counts, 200 × 1000, dense against CSR, equal settings":
        "test_cases.py::test_counts_dense_against_sparse",
    "labels ±1, strings, booleans, 10/20/50":
        "test_several_classes.py::test_labels_of_every_kind_come_back",
    "one class only": "test_refusals.py::test_unusable_data_are_named",
    "save and load with string classes":
        "test_model_file.py::test_predictions_are_the_same_bit_by_bit",
    "a calibration part without one class":
        "uncertainty/test_conformal.py::test_a_calibration_part_without_one_class",
    "fit on an array, predict on an array inside a pipeline with set_output(pandas)":
        "test_classifier.py::test_no_false_warning_in_a_pipeline_of_frames",
    "tol lowered": "test_classifier.py::test_tol_sets_the_gap_that_is_reached",
    "callback or verbose=0": "test_classifier.py::test_silent_unless_asked",
    "n_jobs inside an outer process pool":
        "kernels/test_threads.py::test_worker_pool_limits_threads",
    "OpenMP used, then fork": "kernels/test_threads.py::test_child_of_a_fork_works_on",
    "a boundary plot of a four-column frame":
        "test_display.py::test_boundary_of_four_columns_asks_which_two",
    # files and surroundings
    "model of a header-less file; two rows to predict, all words":
        "command/test_file_cases.py::test_a_model_without_header_answers_every_row",
    "header-less numbers whose first row holds one word":
        "command/test_file_cases.py::test_one_word_in_the_first_row_makes_no_header",
    "sparse ARFF {0 1.5, 1 p}":
        "command/test_file_cases.py::test_sparse_arff_is_what_its_dense_form_is",
    "ARFF with a comment after @data, an indented comment, a comment at the end of a row":
        "command/test_file_cases.py::test_arff_comments_and_quotes_are_no_part_of_labels",
    "300 numbers, one cell n/a, -, ., None, #N/A or <NA>":
        "command/test_file_cases.py::test_one_cell_does_not_turn_numbers_into_words",
    "a;b;y with decimal commas": "command/test_file_cases.py::test_decimal_commas_are_numbers",
    "CSV whose first header cell is empty and holds 1..n, rows sorted by class":
        "command/test_file_cases.py::test_row_numbers_of_sorted_classes_are_no_feature",
    "Parquet with a date, duration, list or binary column, and --drop of it":
        "command/test_file_cases.py::test_parquet_columns_that_are_no_features_can_be_dropped",
    "Parquet string_view": "command/test_typed_files.py::test_parquet_columns_of_all_kinds",
    "--drop wanted at predict time; an extra column there":
        "command/test_file_cases.py::test_predict_drops_copies_and_ignores_columns",
    "np.ma.array with -9999 under the mask, as X or y":
        "test_cases.py::test_masked_entries_are_refused",
    "predict to stdout in an ASCII or latin-1 locale, label oui é":
        "command/test_file_cases.py::test_answers_are_utf_8_wherever_they_go",
    "Ctrl-C in the first two seconds of the command":
        "command/test_process.py::test_an_interruption_while_libraries_load_is_one_line",
    "EntropicClassifierCV(cv=KFold(3)).fit(...).save(...)":
        "test_model_file.py::test_a_search_is_kept_with_its_folds",
    "labels given to conformalize as text for integer classes":
        "test_cases.py::test_labels_of_another_type_are_unknown",
    "SelectFromModel(EntropicClassifier(degree=2))": "test_cases.py::test_selection_by_a_surface",
    "verbose=True; sample_weight of object dtype":
        "test_cases.py::test_flags_and_objects_that_are_numbers",
    "UTF-16 text; a sep=; first line; trailing rows of empty cells; - for standard input":
        "command/test_file_cases.py::test_other_ways_to_write_the_same_table",
    # states, ties, hostile files
    "fit fails (weights of the wrong length, NaN in a refit, other columns)":
        "test_rollback.py::test_a_failed_fit_leaves_everything_as_it_was",
    "300 × 4 noisy rows, predict_proba thresholded at .5 against predict":
        "test_cases.py::test_probabilities_and_predictions_agree_at_one_half",
    "a gzip or xz stream of zeros, 312 kB, given to load_model":
        "test_refused_model_files.py::test_compressed_files_are_refused_unread",
    "a 43 kB model file whose lists share ids":
        "test_refused_model_files.py::test_lists_that_share_ids_are_not_walked_again_and_again",
    "a model file with band_, conformal_ or calibration_ of a wrong shape":
        "test_refused_model_files.py::test_attributes_that_no_fit_leaves_are_refused",
    "a model file of another version of the package":
        "test_refused_model_files.py::test_a_newer_format_is_named",
    "3,000 × 25, degree 2, interactions, fitted in 8 threads at once":
        "kernels/test_threads.py::test_fits_at_the_same_time_give_the_bits_of_one_alone",
    "dense_csr_degree3.npz (66 × 7, one positive)":
        "test_cases.py::test_sizes_far_apart_in_dense_and_sparse_rows",
    "slack 1e-100, data times 1e139": "test_cases.py::test_the_smallest_slack_and_wide_columns",
    'NaT as a label; labels ["a", 1]': "test_cases.py::test_labels_that_are_none",
    "a resample in which one class has only weight 0, inside BaggingClassifier":
        "test_cases.py::test_a_resample_without_weight_for_a_class",
    "labels 2.5 / 7.0": "test_cases.py::test_quantities_are_no_labels",
    "CSR with standardize=True, degree 2, against dense":
        "test_cases.py::test_standardised_sparse_rows_give_the_surface_of_dense_ones",
    "the oldest dependencies declared": "test_estimator_checks.py::test_scikit_learn",
    "kill -9 while saving, 25 times": "test_files.py::test_killed_while_saving",
}  # fmt: skip

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


@pytest.mark.backend_free
def test_every_case_has_its_test():
    root, found = Path(__file__).parent, {}
    for place in CASES.values():
        name, _, test = place.partition("::")
        if name not in found:
            tree = ast.parse((root / name).read_text())
            found[name] = {node.name for node in ast.walk(tree) if hasattr(node, "name")}
        assert test in found[name], place


# -------------------------------------------------------------------- what is learned


def test_columns_far_apart():
    rng = np.random.default_rng(1)
    raw = rng.normal(size=(100, 60))
    y = raw[:, 0] + rng.normal(size=100) > 0
    raw[:, 1] *= 1e4
    raw[:, 2] += 1e4
    scaled = StandardScaler().fit_transform(raw)
    one = EntropicClassifier(tol=1e-12).fit(raw, y)
    two = EntropicClassifier(tol=1e-12, standardize=False).fit(scaled, y)
    assert_allclose(one.objective_, two.objective_, rtol=1e-10)
    assert_allclose(one.decision_function(raw), two.decision_function(scaled), atol=1e-7)
    assert one.n_iter_ <= two.n_iter_ + 1


def test_shifted_features():
    shifted = X + 1e6
    one, two = (EntropicClassifier().fit(rows, Y) for rows in (X, shifted))
    assert one.n_iter_ == two.n_iter_
    assert_allclose(one.decision_function(X), two.decision_function(shifted), atol=1e-7)


def test_four_classes_of_integer_weights_are_repeated_rows():
    rng = np.random.default_rng(2)
    rows, q = rng.normal(size=(100, 5)), rng.integers(0, 10, 100)
    y = np.argmax(rows[:, :4] + rng.normal(size=(100, 4)), axis=1)
    model = EntropicClassifier(class_weight="balanced", tol=1e-12).fit(rows, y, q)
    again = EntropicClassifier(class_weight="balanced", tol=1e-12)
    again.fit(np.repeat(rows, q, axis=0), np.repeat(y, q))
    assert_allclose(model.coef_, again.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(model.band_, again.band_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.predict_proba(rows), again.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("degree", [1, 2])
def test_read_only_rows_of_a_worker_pool(tmp_path, degree):
    import joblib

    values = RNG.random((400, 30), dtype=np.float32)
    rows = sp.csr_array(np.where(values < 0.1, values, 0))
    y = rows.sum(axis=1) > np.median(rows.sum(axis=1))
    joblib.dump(rows, tmp_path / "rows")
    mapped = joblib.load(tmp_path / "rows", mmap_mode="r")  # what a pool hands to its workers
    assert not mapped.data.flags.writeable
    model = EntropicClassifier(degree).fit(mapped, y)
    plain = EntropicClassifier(degree).fit(rows, y)
    assert_array_equal(model.decision_function(mapped), plain.decision_function(rows))
    assert_array_equal(mapped.toarray(), rows.toarray())


@pytest.mark.parametrize("standardize", [False, True])
def test_counts_dense_against_sparse(standardize):
    counts = np.random.default_rng(3).poisson(0.05, size=(200, 1000))
    y = counts[:, :50].sum(axis=1) > 2
    settings = dict(standardize=standardize, tol=1e-12)
    dense = EntropicClassifier(**settings).fit(counts, y)
    sparse = EntropicClassifier(**settings).fit(sp.csr_array(counts), y)
    # a gap of 3e-18 leaves coefficients about the root of it, over the least deviation of a column
    assert_allclose(sparse.coef_, dense.coef_, rtol=0, atol=1e-7)
    assert sparse.band_ == pytest.approx(dense.band_, abs=1e-7)


@pytest.mark.parametrize("degree", [2, 3])
def test_standardised_sparse_rows_give_the_surface_of_dense_ones(degree):
    dense = X * (np.abs(X) > 0.5)
    sparse = sp.csr_array(dense)
    settings = dict(standardize=True, tol=1e-12)
    expected = EntropicClassifier(degree, **settings).fit(dense, Y)
    scores = expected.decision_function(dense)
    parts = [(sparse[:20], Y[:20]), (sparse[20:], Y[20:])]
    for model in (
        EntropicClassifier(degree, **settings).fit(sparse, Y),
        EntropicClassifier(degree, **settings).fit_batches(parts),
    ):
        assert_allclose(model.decision_function(sparse), scores, rtol=1e-9, atol=1e-9)
        assert_allclose(model.decision_function(dense), scores, rtol=1e-9, atol=1e-9)


HARD = dict(degree=3, constraint="equality", C=0.01023, bound=122.3, standardize=False)


def sizes_far_apart(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(66, 7)) * 10.0 ** rng.uniform(-3, 3, 7)
    y = rng.random(66) < 0.1
    y[:2] = [False, True]
    return rows + 10.0 ** rng.uniform(-3, 3, 7), y


def reported():
    with np.load(real_path("dense_csr_degree3.npz")) as data:
        return data["X"], data["y"]


@pytest.mark.parametrize(
    "make", [reported, lambda: sizes_far_apart(2), lambda: sizes_far_apart(4)], ids=["", "2", "4"]
)
def test_sizes_far_apart_in_dense_and_sparse_rows(make):
    rows, y = make()
    settings = {**HARD, "slack": 0.00297, "margin": 0.5 if make is reported else 0.0}
    dense = EntropicClassifier(**settings).fit(rows, y)
    sparse = EntropicClassifier(**settings).fit(sp.csr_array(rows), y)
    assert dense.status_ == sparse.status_ == "converged"
    assert sparse.n_iter_ <= 20
    assert_allclose(sparse.objective_, dense.objective_, atol=2e-8 * len(y))
    assert_array_equal(sparse.predict(rows), dense.predict(rows))


@pytest.mark.parametrize("labels", ["separable", "overlapping"])
@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_the_smallest_slack_and_wide_columns(constraint, labels):
    y = Y if labels == "separable" else np.roll(Y, 3)
    model = EntropicClassifier(slack=1e-30, constraint=constraint).fit(X * 1e119, y)
    assert np.isfinite(model.band_).all() and np.isfinite(model.loo_decision_).all()
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="spreads over more than"):
        EntropicClassifier(slack=1e-30).fit(X * 1e121, y)
    with pytest.raises(ValueError, match=r"slack=1e-100 is so small .* or 0 for the exact"):
        EntropicClassifier(slack=1e-100).fit(X, y)


def test_probabilities_and_predictions_agree_at_one_half():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(300, 4))
    y = np.where(rows[:, 0] + 2 * rng.normal(size=300) > 0, "yes", "no")
    model = EntropicClassifier().fit(rows, y)
    new = rng.normal(size=(100_000, 4))
    assert_array_equal(model.predict_proba(new)[:, 1] >= 0.5, model.predict(new) == "yes")


# ------------------------------------------------------------------------- what is given

MASK = np.ma.masked_values(np.where(X > 1, -9999.0, X), -9999.0)
MASKED_Y = np.ma.array(Y, mask=np.arange(60) == 7)


@pytest.fixture(scope="module")
def model():
    return EntropicClassifier().fit(X, Y)


MASKED = {
    "fit X": lambda m: m.fit(MASK, Y),
    "fit y": lambda m: m.fit(X, MASKED_Y),
    "fit weights": lambda m: m.fit(X, Y, np.ma.masked_less(np.abs(X[:, 0]), 0.5)),
    "batches X": lambda m: m.fit_batches([(MASK, Y)]),
    "batches y": lambda m: m.fit_batches([(X, MASKED_Y)]),
    "predict": lambda m: m.predict(MASK),
    "probabilities": lambda m: m.predict_proba(MASK),
    "report": lambda m: m.selective_report(X, MASKED_Y),
    "conformalize": lambda m: m.conformalize(X, MASKED_Y),
    "search": lambda m: EntropicClassifierCV((1,)).fit(MASK, Y),
    "monomials": lambda m: Monomials(2).fit(MASK),
}


@pytest.mark.parametrize("call", MASKED)
def test_masked_entries_are_refused(model, call):
    with pytest.raises(ValueError, match=r"has masked entries; fill them or drop their rows"):
        MASKED[call](model)


def test_a_mask_that_hides_nothing_is_none():
    given = EntropicClassifier().fit(np.ma.array(X), np.ma.array(Y))
    assert_array_equal(given.coef_, EntropicClassifier().fit(X, Y).coef_)


NO_LABELS = {
    "NaT in dates": (np.array(["NaT", "2020"] * 30, dtype="M8[Y]"), "no label in row 0"),
    "NaT in objects": (np.array([np.datetime64("NaT"), "a"] * 30, dtype=object), "no label in row"),
    "pandas' NaT": ([*["a", "b"] * 29, "a", __import__("pandas").NaT], "no label in row 59"),
    "NaN as a NumPy number": ([np.float32("nan"), 1.0] * 30, "no label in row 0"),
    "text and numbers in a list": (["a", 1] * 30, r"text \('a'\) and other labels \(1\)"),
    "text and numbers as objects": (np.array([1, "a"] * 30, dtype=object), "labels of one type"),
}


@pytest.mark.parametrize("kind", NO_LABELS)
def test_labels_that_are_none(kind):
    y, message = NO_LABELS[kind]
    with pytest.raises(ValueError, match=message):
        EntropicClassifier().fit(X, y)


def test_labels_of_another_type_are_unknown(model):
    for y in (Y.astype(str), Y.astype(str).astype(object), Y.astype(str).tolist()):
        with pytest.raises(ValueError, match=r"not among the classes \[0, 1\]"):
            model.conformalize(X, y)
    named = EntropicClassifier().fit(X, np.array(["0", "1"])[Y])
    with pytest.raises(ValueError, match="not among the classes"):
        named.conformalize(X, Y.astype(object))
    for y in (Y.astype(float), Y.astype(object), Y.tolist()):
        EntropicClassifier().fit(X, Y).conformalize(X, y)


def test_quantities_are_no_labels():
    ours, theirs = EntropicClassifier(), LogisticRegression()
    for estimator in (ours, theirs):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            estimator.fit(X, [2.5, 7.0] * 30)
        estimator.fit(X, [2.0, 7.0] * 30)
    assert ours.classes_.dtype == theirs.classes_.dtype


def test_flags_and_objects_that_are_numbers(capsys):
    weights = np.linspace(1, 2, 60)
    plain = EntropicClassifier().fit(X, Y, weights)
    given = EntropicClassifier(verbose=False).fit(X.astype(object), Y, weights.astype(object))
    assert_array_equal(given.coef_, plain.coef_)
    assert capsys.readouterr().out == ""
    EntropicClassifier(verbose=True).fit(X, Y)
    loud = capsys.readouterr().out
    EntropicClassifier(verbose=1).fit(X, Y)
    assert loud and loud == capsys.readouterr().out
    for strange in (None, "2", 1j):
        with pytest.raises(ValueError, match="one number a row"):
            EntropicClassifier().fit(X, Y, np.array([*weights[1:], strange], dtype=object))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_selection_by_a_surface(degree):
    from sklearn.feature_selection import RFE, RFECV, SelectFromModel

    rows = np.column_stack([RNG.normal(size=(60, 3)) * 0.1, X])
    y = X[:, 0] * (X[:, 1] if degree > 1 else 1) > 0
    settings = dict(degree=degree, standardize=False, leave_one_out=False)
    chosen = SelectFromModel(EntropicClassifier(**settings), threshold="mean").fit(rows, y)
    assert chosen.get_support()[3] and not chosen.get_support()[:3].any()
    if degree > 1:
        assert chosen.get_support()[4]
    chosen = RFE(EntropicClassifier(**settings), n_features_to_select=2).fit(rows, y)
    assert chosen.get_support().sum() == 2 and chosen.get_support()[3]
    chosen = RFECV(EntropicClassifier(**settings), cv=3, step=2).fit(rows, y)
    assert chosen.get_support()[3]


def test_importances_share_the_coefficients():
    model = EntropicClassifier(3).fit(X, Y)
    expected = np.zeros(3)
    names = model.monomials_.get_feature_names_out()
    for name, size in zip(names, np.abs(model.scaled_coef_[0]), strict=True):
        powers = [factor.partition("^") for factor in name.split(" ")]
        total = sum(int(power or 1) for *_, power in powers)
        for feature, _, power in powers:
            expected[int(feature[1:])] += size * int(power or 1) / total
    assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-12)
    assert not hasattr(EntropicClassifier(), "feature_importances_")


def test_a_resample_without_weight_for_a_class():
    """As SVC has it: the resample is refused, with the class and the remedy named."""
    y = np.arange(60) < 2
    for estimator, message in (
        (SVC(), "all samples with positive weights belong to the same class"),
        (EntropicClassifier(), "Only rows of weight 0 have the label 1; give"),
    ):
        with pytest.raises(ValueError, match=message):
            BaggingClassifier(estimator, n_estimators=20, random_state=0).fit(X, y)
