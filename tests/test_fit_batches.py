"""Fits on batches: the model of all rows at once, whatever the cut, and clear refusals."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from entropic import EntropicClassifier, load_model
from entropic.rows import stream
from entropic.uncertainty import parted


def rows(n_samples=300, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * [1.0, 5.0, 0.1, 2.0][:n_features] + 3.0
    score = X[:, 0] - 3 + 0.3 * (X[:, 1] - 3) + rng.logistic(size=n_samples)
    return X, np.where(score > 0, "yes", "no")


def cut(size, *columns):
    n_samples = columns[0].shape[0]
    return [tuple(column[i : i + size] for column in columns) for i in range(0, n_samples, size)]


def assert_same(model, whole, tol=1e-8):
    """Coefficients and everything that rests on them."""
    assert_allclose(model.coef_, whole.coef_, rtol=tol, atol=tol * np.max(np.abs(whole.coef_)))
    assert_allclose(model.intercept_, whole.intercept_, rtol=tol, atol=tol)
    assert_allclose(model.band_, whole.band_, rtol=tol, atol=tol)
    assert_allclose(model.separation_, whole.separation_, rtol=tol, atol=tol)
    assert_allclose(model.calibration_, whole.calibration_, rtol=tol, atol=tol)
    assert_allclose(model.left_out_risk_, whole.left_out_risk_, rtol=tol, atol=tol)
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert model.classes_.dtype == whole.classes_.dtype
    assert model.converged_ and model.n_features_in_ == whole.n_features_in_


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of a few rows, so that what is put together is cut as well."""
    monkeypatch.setattr(stream, "PART_ENTRIES", 250)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("weighted", ["", "counts", "shares"])
def test_the_cut_and_the_order_do_not_matter(degree, constraint, weighted):
    X, y = rows()
    columns = [X, y]
    rng = np.random.default_rng(1)
    if weighted:
        columns.append(rng.integers(0, 4, len(y)) if weighted == "counts" else rng.random(len(y)))
    # leave-one-out scores move several times as far as the coefficients
    settings = dict(degree=degree, constraint=constraint, bound=1.0, slack=1.0, tol=1e-12)
    whole = EntropicClassifier(**settings).fit(*columns)
    for size in (7, 100, len(y)):
        batches = cut(size, *columns)
        rng.shuffle(batches)
        assert_same(EntropicClassifier(**settings).fit_batches(batches), whole)


def test_batches_of_one_row_and_empty_ones():
    X, y = rows(60)
    batches = [batch for pair in zip(cut(1, X, y), cut(1, X, y), strict=True) for batch in
               (pair[0], (pair[1][0][:0], pair[1][1][:0]))]  # fmt: skip
    assert_same(EntropicClassifier().fit_batches(batches), EntropicClassifier().fit(X, y))


@pytest.mark.parametrize("standardize", ["auto", True, False])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_batches(standardize, degree, dtype):
    X, y = rows()
    X = sp.csr_matrix(np.where(np.abs(X - 3) < 0.5, 0, X - 3).astype(dtype))
    settings = dict(degree=degree, standardize=standardize, slack=1.0)
    model = EntropicClassifier(**settings).fit_batches(cut(40, X, y))
    assert_same(model, EntropicClassifier(**settings).fit(X, y))


def test_sparse_rows_that_fill_few_of_many_monomials():
    rng = np.random.default_rng(0)
    X = sp.random(200, 1000, 0.004, format="csr", random_state=rng)
    y = np.asarray(X[:, :200].sum(axis=1)).ravel() + 0.1 * rng.normal(size=200) > 0.2
    settings = dict(degree=2, standardize=False, leave_one_out=False, tol=1e-15)
    model = EntropicClassifier(**settings).fit_batches(cut(30, X, y))
    whole = EntropicClassifier(**settings).fit(X, y)
    assert model.monomials_.n_output_features_ < 10_000
    assert_allclose(model.coef_, whole.coef_, atol=1e-6)


@pytest.mark.parametrize("class_weight", ["balanced", {"no": 3.0}])
def test_class_weights(class_weight):
    X, y = rows()
    weight = np.random.default_rng(0).integers(1, 5, len(y))
    settings = dict(class_weight=class_weight, slack=1.0, certainty=0.9)
    model = EntropicClassifier(**settings).fit_batches(cut(33, X, y, weight))
    assert_same(model, EntropicClassifier(**settings).fit(X, y, weight))


@pytest.mark.parametrize(
    "settings",
    [
        dict(standardize=False, margin=0.5),
        dict(monotonic_cst=[1, 0, 0, -1]),
        dict(fit_intercept=False, slack=0.001, tol=1e-15),
        dict(C=1e6, bound=50.0, slack=0.01),
        dict(degree=2, interaction_only=True),
    ],
)
def test_other_corners_of_the_problem(settings):
    X, y = rows()
    assert_same(
        EntropicClassifier(**settings).fit_batches(cut(50, X, y)),
        EntropicClassifier(**settings).fit(X, y),
        1e-6 if "C" in settings else 1e-8,
    )


def test_without_a_factor_that_is_cheap(monkeypatch):
    """Conjugate gradients recompute Hessian weights from the point, part by part."""
    from entropic.solvers import cost

    X, y = rows()
    whole = EntropicClassifier(tol=1e-12, bound=20.0).fit(X, y)
    monkeypatch.setattr(cost, "CHEAP_FACTOR", 0.0)
    monkeypatch.setattr(cost, "CHEAP_SECONDS", 0.0)
    model = EntropicClassifier(tol=1e-12, bound=20.0).fit_batches(cut(50, X, y))
    assert "cg" in model.history_["linear"] and model.converged_
    assert_allclose(model.coef_, whole.coef_, rtol=1e-6)


def test_classes_that_come_late_and_batches_of_one_class():
    X, y = rows()
    order = np.argsort(y, kind="stable")
    whole = EntropicClassifier().fit(X, y)
    for chosen in (order, order[::-1]):
        assert_same(EntropicClassifier().fit_batches(cut(20, X[chosen], y[chosen])), whole)
    known = EntropicClassifier().fit_batches(cut(20, X, y), classes=["yes", "no"])
    assert_same(known, whole)


def test_frames_and_other_types_of_numbers_and_labels():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    batches = [(frame[i : i + 50], pd.Series(y[i : i + 50])) for i in range(0, 300, 50)]
    model = EntropicClassifier().fit_batches(batches)
    assert_allclose(model.coef_, EntropicClassifier().fit(X, y).coef_, rtol=1e-8)
    assert model.feature_names_in_.tolist() == list("abcd")
    batches[3] = (batches[3][0][list("abdc")], batches[3][1])
    with pytest.raises(ValueError, match=r"Batch 3 \(rows 150 to 199 of all\): .*feature names"):
        EntropicClassifier().fit_batches(batches)
    integers = np.round(X).astype(np.int64)
    model = EntropicClassifier().fit_batches(cut(50, integers, y == "yes"))
    assert_allclose(model.coef_, EntropicClassifier().fit(integers, y == "yes").coef_, rtol=1e-8)


def test_a_function_is_called_again_for_every_pass():
    X, y = rows()
    calls = []

    def batches():
        calls.append(1)
        return iter(cut(100, X, y))

    model = EntropicClassifier().fit_batches(batches)
    assert_same(model, EntropicClassifier().fit(X, y))
    assert len(calls) == model.n_sweeps_ + 3  # a survey before, two for the scores after


def test_what_is_left_by_a_fit_is_saved_and_asked_as_usual(tmp_path):
    X, y = rows()
    model = EntropicClassifier().fit_batches(cut(100, X, y))
    assert model.multipliers_ is None and model.loo_decision_ is None
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=0)
    assert loaded.selective_report(X, y).coverage > 0
    model.conformalize(X, y)


def test_shortened_scores_are_off_by_what_is_stated(monkeypatch):
    X, y = rows(2000)
    whole = EntropicClassifier(certainty=0.9).fit(X, y)
    monkeypatch.setattr(parted, "MOST_EXACT", 1000)
    model = EntropicClassifier(certainty=0.9).fit_batches(cut(100, X, y))
    assert model.band_ != whole.band_
    assert_allclose(model.band_, whole.band_, rtol=2.0**-parted.BITS)
    off = np.abs(model.predict_proba(X) - whole.predict_proba(X))
    assert off.mean() < 1e-3 and off.max() < 0.05
    extreme = EntropicClassifier().fit_batches(cut(100, X, y))
    assert_allclose(extreme.band_, EntropicClassifier().fit(X, y).band_, rtol=1e-8)


def test_mapped_files_are_let_go_of(tmp_path):
    X, y = rows()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same(
        EntropicClassifier().fit_batches(cut(100, mapped, y)), EntropicClassifier().fit(X, y)
    )


# ------------------------------------------------------------------- refusals


def refused(batches, message, classes=None, **settings):
    with pytest.raises(ValueError, match=message):
        EntropicClassifier(**settings).fit_batches(batches, classes)


def test_what_can_be_read_only_once():
    X, y = rows()
    refused(iter(cut(50, X, y)), "can be read only once.*makes a new iterator")
    once = iter(cut(50, X, y))
    refused(lambda: once, "held 300 rows when first read and hold 0 now")
    refused(7, "batches must be an iterable or a function, not 7")
    for path in ("a.parquet", Path("a.parquet")):
        refused(path, "batches is the path 'a.parquet'; read it by TableFiles")


def test_bad_cells_are_named_by_batch_and_row():
    X, y = rows()
    bad = X.copy()
    bad[187, 2] = np.nan
    refused(cut(5, bad, y), r"Batch 37 \(rows 185 to 189 of all\): X contains NaN in row 2, column")
    weight = np.ones(len(y))
    weight[42] = -1
    refused(cut(20, X, y, weight), r"Batch 2 \(rows 40 to 59 of all\): weight is negative in row 2")
    refused(cut(20, X, y, np.full(len(y), 1e308)), "have an infinite sum")
    labels = y.astype(object)
    labels[101] = None
    refused(cut(100, X, labels), r"Batch 1 .*y has no label in row 1")


def test_batches_that_do_not_fit_together():
    X, y = rows()
    batches = cut(100, X, y)
    refused([*batches, (X[:9, :3], y[:9])], r"Batch 3 .*X has 3 features, but .* expecting 4")
    refused([*batches, (sp.csr_matrix(X), y)], "Batch 3 .*dense in some batches and sparse in")
    refused([*batches, (X, y[:9])], "Batch 3 .*y has 9 labels for 300 rows")
    refused([*batches, (X,)], r"Batch 3 .*a batch must be \(X, y\) or \(X, y, weight\)")
    refused([], "batches hold no rows")
    refused([(X[:0], y[:0])], "batches hold no rows")


def test_labels_that_are_too_many_or_too_few():
    X, y = rows()
    late = y.copy().astype("<U5")
    late[-1] = "maybe"
    model = EntropicClassifier().fit_batches(cut(50, X, late))
    assert model.classes_.tolist() == ["maybe", "no", "yes"]  # one row, in the last batch
    refused(cut(50, X, late), "Batch 5 .*label maybe in row 49", ["no", "yes"])
    refused(cut(50, X[y == "no"], y[y == "no"]), r"y has 1 class, \['no'\]; give")
    refused(cut(50, X[y == "no"], y[y == "no"]), r"y has 1 class, \['no'\]; give", ["no", "yes"])
    refused(cut(50, X, y), "classes must be different labels, two at least", ["no", "no"])
    refused(cut(50, X, y, (y == "no") * 1.0), "Only rows of weight 0 have the label yes")


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
@pytest.mark.parametrize("tol, classes", [(1e-8, 2), (1e-13, 2), (1e-8, 3)])
def test_the_exact_constraint_is_the_limit_of_small_slacks(constraint, tol, classes):
    """Where some coefficients separate, the solution of memory; the residual is as asked."""
    X, _ = rows(240)
    y = np.digitize(X[:, 0] + 0.1 * X[:, 1], [3.4, 3.9][: classes - 1])
    settings = dict(slack=0.0, constraint=constraint, bound=50.0, tol=tol, degree=classes - 1)
    whole = EntropicClassifier(**settings).fit(X, y)
    model = EntropicClassifier(**settings).fit_batches(cut(33, X, y))
    assert np.all(whole.converged_) and np.all(model.converged_)
    scale = np.max(np.abs(whole.coef_), axis=1, keepdims=True)
    assert_allclose(model.coef_ / scale, whole.coef_ / scale, atol=max(1e-5, tol))
    if classes == 2:
        t = np.where(y == 1, 1, -1) * model.decision_function(X)
        assert model.residual_norm_ <= np.sqrt(tol * len(y))
        assert np.all(t > -model.residual_norm_)


@pytest.mark.parametrize("constraint", ["equality", "inequality"])
def test_the_exact_constraint_where_nothing_separates(constraint):
    """Coefficients near 0 keep the constraint to any residual; multipliers prove that none do."""
    X, y = rows(240)
    settings = dict(slack=0.0, constraint=constraint)
    with pytest.warns(ConvergenceWarning, match="none reaches a margin"):
        whole = EntropicClassifier(**settings).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="none reaches a margin"):
        model = EntropicClassifier(**settings).fit_batches(cut(33, X, y))
    assert whole.status_ == model.status_ == "not_separable"


def test_what_needs_a_number_a_row():
    X, y = rows()
    refused(cut(50, X, y), "solver='spectral' keeps a number", solver="spectral")


def test_rows_that_change_between_passes():
    X, y = rows()
    n_rows = [300]

    def batches():
        n_rows[0] -= 1
        return cut(50, X[: n_rows[0]], y[: n_rows[0]])

    refused(batches, "held 299 rows when first read and hold 298 now")


def test_what_the_batches_raise_is_raised():
    X, y = rows()

    def batches():
        yield X, y
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        EntropicClassifier().fit_batches(batches)


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = EntropicClassifier().fit_batches(cut(100, X.astype(np.float32), y))
    assert_same(model, EntropicClassifier().fit(X.astype(np.float32), y))
