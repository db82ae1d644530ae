"""The summary of a fitted classifier: its figures are the model's, whatever the degree."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError

from entropic import EntropicClassifier, EntropicClassifierCV
from entropic.summary import summary_of

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :5].rename(columns=lambda name: name.removeprefix("mean "))
LABELS = np.array(["malignant", "benign"])[Y]


def raw_products(frame, monomials):
    """The products of raw features less the centre, made by hand from their names."""
    centred = dict(zip(frame.columns, frame.to_numpy().T - monomials.centre_[:, None], strict=True))
    columns = []
    for name in monomials.get_feature_names_out():
        powers = [factor.partition("^") for factor in name.split(" ")]
        columns.append(np.prod([centred[one] ** int(n or 1) for one, _, n in powers], axis=0))
    return np.column_stack(columns)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_scaled_and_raw_coefficients_give_the_scores(degree):
    model = EntropicClassifier(degree).fit(X, LABELS)
    frame = model.summary().to_frame()
    assert frame.columns.tolist() == ["class", "term", "scaled", "raw", "share"]
    assert set(frame["class"]) == {"malignant"} and len(frame) == model.coef_.shape[1] + 1
    terms = frame.iloc[:-1].set_index("term").loc[model.monomials_.get_feature_names_out(X.columns)]
    raw = X.to_numpy() if degree == 1 else raw_products(X, model.monomials_)
    constant = frame.iloc[-1]
    assert constant["term"] == "(intercept)"
    scores = model.decision_function(X)
    np.testing.assert_allclose(raw @ terms["raw"] + constant["raw"], scores, rtol=1e-8, atol=1e-8)
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    np.testing.assert_allclose(
        scaled @ terms["scaled"] + constant["scaled"], scores, rtol=1e-8, atol=1e-8
    )
    assert np.all(np.diff(frame["scaled"].abs().iloc[:-1]) <= 0)
    np.testing.assert_allclose(terms["share"], terms["scaled"].abs() / 2.0)
    assert constant["share"] == pytest.approx(abs(constant["scaled"]) / 8.0)


def test_the_text_names_the_largest_terms_and_says_how_the_fit_came_out():
    model = EntropicClassifier(bound=0.3).fit(X, LABELS)
    text = str(model.summary(2))
    assert text.startswith("EntropicClassifier(bound=0.3)\n")
    assert "benign, malignant (positive)" in text and "converged (duality gap" in text
    assert f"scores between {model.band_[0]:.6g} and {model.band_[1]:.6g}" in text
    wrong = model.left_out_risk_[2, -1] / 569
    assert f"569 rows, {wrong:.2%} of them wrong" in text
    frame = model.summary().to_frame()
    shown = text.partition("Terms towards malignant, the 2 largest of 5\n")[2].splitlines()
    assert [line.split("  ")[1] for line in shown[1:]] == [*frame["term"][:2], "(intercept)"]
    assert shown[1].endswith(f"{frame['share'][0]:.1%}")
    assert all(len(line) <= 100 for line in text.splitlines())


def test_left_out_errors_are_those_of_refits_without_each_row():
    rows, labels = X.iloc[::15], LABELS[::15]
    model = EntropicClassifier().fit(rows, labels)
    wrong = 0
    for row in range(len(rows)):
        keep = np.arange(len(rows)) != row
        without = EntropicClassifier(leave_one_out=False).fit(rows[keep], labels[keep])
        wrong += without.predict(rows[~keep])[0] != labels[row]
    assert f"{len(rows)} rows, {wrong / len(rows):.2%} of them wrong" in str(model.summary())


def test_what_is_certain_is_said_as_it_is_known():
    model = EntropicClassifier(leave_one_out=False).fit(X[::2], LABELS[::2])
    assert "unknown: there are no leave-one-out scores" in str(model.summary())
    assert "left out" not in str(model.summary())
    model.conformalize(X[1::2], LABELS[1::2])
    assert ", by conformal sets" in str(model.summary())
    model.control_error(X[1::2], LABELS[1::2], max_error=0.1)
    assert "of the certain at most 0.1 wrong, by 284 rows kept aside" in str(model.summary())


def test_a_search_says_what_it_chose_and_its_shares_are_of_the_chosen_box():
    model = EntropicClassifierCV((1,), (0.25, 0.5), slacks=(0.1,)).fit(X, LABELS)
    chosen = model.best_params_
    text, frame = str(model.summary()), model.summary().to_frame()
    assert f"degree=1, constraint={chosen['constraint']}, slack=0.1" in text
    assert "after a search expect 1.1 to 1.4 times" in text
    np.testing.assert_allclose(
        frame["share"].iloc[:-1], frame["scaled"].abs().iloc[:-1] / chosen["bound"]
    )


def test_sparse_rows_and_models_without_constant_or_names():
    values = np.random.default_rng(0).random((80, 400))
    sparse = sp.csr_array(np.where(values < 0.02, 50 * values, 0))
    y = sparse.sum(axis=1) > np.median(sparse.sum(axis=1))
    model = EntropicClassifier(2, fit_intercept=False).fit(sparse, y)
    frame = model.summary().to_frame()
    assert model.monomials_.columns_ is None or len(frame) == len(model.monomials_.columns_) + 1
    np.testing.assert_array_equal(frame["raw"], frame["scaled"])  # nothing was scaled
    assert frame["raw"].iloc[-1] == 0
    by_name = dict(zip(model.monomials_.get_feature_names_out(), model.coef_[0], strict=True))
    assert [by_name[term] for term in frame["term"][:50]] == frame["raw"][:50].tolist()


def test_the_other_class_may_be_the_one_pointed_to():
    model = EntropicClassifier().fit(X, LABELS)
    here, there = model.summary(), summary_of(model, positive="benign")
    np.testing.assert_array_equal(there.raw, -here.raw)
    np.testing.assert_array_equal(there.intercepts[:, :2], -here.intercepts[:, :2])
    np.testing.assert_array_equal(there.share, here.share)
    lower, upper = model.band_
    assert f"between {-upper:.6g} and {-lower:.6g}" in str(there)


def test_models_saved_before_scaled_coefficients_were_kept_are_shown_without():
    model = EntropicClassifier().fit(X, LABELS)
    raw = model.coef_[0]
    del model.scaled_coef_, model.scaled_intercept_
    frame = model.summary().to_frame()
    assert frame["scaled"].isna().all() and frame["share"].isna().all()
    assert frame["term"][0] == X.columns[np.argmax(np.abs(raw))]
    assert "unknown" in str(model.summary())


@pytest.mark.backend_free
def test_only_fitted_models_have_a_summary():
    with pytest.raises(NotFittedError):
        EntropicClassifier().summary()


def test_no_frame_without_pandas(monkeypatch):
    model = EntropicClassifier().fit(X[:50], LABELS[:50])
    summary = model.summary()
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        summary.to_frame()
    with pytest.raises(ValueError, match="n_terms must be an integer"):
        model.summary(-1)


def test_names_are_clipped_in_the_text_alone():
    frame = pd.DataFrame({"a" * 80: X.iloc[:, 0], "b": X.iloc[:, 1]})
    summary = EntropicClassifier().fit(frame, LABELS).summary()
    assert f"{'a' * 43}…" in str(summary) and "a" * 80 in set(summary.to_frame()["term"])


def test_several_classes_have_their_terms_and_bands_each():
    rows, y = load_wine(return_X_y=True, as_frame=True)
    labels = np.array(["barolo", "grignolino", "barbera"])[y]
    model = EntropicClassifier().fit(rows, labels)
    summary = model.summary(3)
    text, frame = str(summary), summary.to_frame()
    assert summary.towards == ("barbera", "barolo", "grignolino")
    for place, label in enumerate(summary.towards):
        lower, upper = model.band_[place]
        own = frame[frame["class"] == label]
        shown = f"{label}, the 3 largest of 13 (uncertain between {lower:.6g} and {upper:.6g})"
        assert f"Terms towards {shown}\n" in text
        raw = own.set_index("term")["raw"]
        scores = rows.to_numpy() @ raw[rows.columns] + raw["(intercept)"]
        np.testing.assert_allclose(scores, model.decision_function(rows)[:, place], rtol=1e-8)
    steps = ", ".join(map(str, model.n_iter_))
    assert f"{steps} ({model.n_sweeps_:.6g} sweeps" in text and "barbera, barolo, gri" in text


def test_the_limits_of_several_classes_are_those_that_count():
    rows, y = load_wine(return_X_y=True)
    model = EntropicClassifier().fit(rows[::2], y[::2])
    model.conformalize(rows[1::2], y[1::2], 0.9)
    text = str(model.summary())
    for label, limit in zip(model.classes_, model.conformal_, strict=True):
        assert f"Terms towards {label} (possible from {limit:.6g})\n" in text
    model.control_error(rows[1::2], y[1::2], max_error=0.2)
    assert "Terms towards 1\n" in str(model.summary())


def test_many_classes_have_their_steps_in_short():
    model = EntropicClassifier().fit(X.iloc[:130], np.arange(130) % 13)
    low, high = min(model.n_iter_), max(model.n_iter_)
    assert f"{low} to {high} a class ({model.n_sweeps_:.6g} sweeps" in str(model.summary(0))
