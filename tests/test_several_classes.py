"""Several classes: the surfaces of one against the rest, found together, and what they say."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.multiclass import OneVsRestClassifier

from entropic import EntropicClassifier, EntropicClassifierCV, load_model
from entropic.uncertainty.several import class_scores, distance, possible, probabilities


def clouds(n_classes=3, n_samples=400, n_features=4, seed=0, spread=2.0):
    """Overlapping clouds, their labels words."""
    X, y = make_blobs(n_samples, n_features, centers=n_classes, cluster_std=spread,
                      center_box=(-3, 3), random_state=seed)  # fmt: skip
    return X, np.array([f"class {code:02d}" for code in range(n_classes)])[y]


def one_by_one(model, X, y, sample_weight=None):
    """The two-class fits of each class against the rest."""
    fits = []
    for label in np.unique(y):
        single = EntropicClassifier(**model.get_params())
        fits.append(single.fit(X, y == label, sample_weight))
    return fits


@pytest.mark.parametrize(
    ("n_classes", "storage", "degree", "weighted"),
    [
        (3, "dense", 1, False),
        (3, "sparse", 2, True),
        (10, "float32", 2, False),
        (10, "sparse", 1, False),
        (10, "dense", 1, True),
        (26, "dense", 2, False),
        (26, "float32", 1, True),
    ],
)
def test_the_coefficients_of_one_against_the_rest(n_classes, storage, degree, weighted):
    X, y = clouds(n_classes, 600)
    X = {"dense": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(X)}[storage]
    model = EntropicClassifier(degree, tol=1e-10)
    weight = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    together = EntropicClassifier(**model.get_params()).fit(X, y, weight)
    singles = one_by_one(model, X, y, weight)
    assert together.coef_.shape == (n_classes, singles[0].coef_.shape[1])
    for k, single in enumerate(singles):
        assert_allclose(together.coef_[k], single.coef_[0], rtol=1e-8, atol=1e-8)
        assert_allclose(together.intercept_[k], single.intercept_[0], rtol=1e-8, atol=1e-8)
        assert_allclose(together.loo_decision_[k], single.loo_decision_, rtol=1e-6, atol=1e-7)
        assert_allclose(together.multipliers_[k], single.multipliers_, rtol=1e-5, atol=1e-6)
        assert_allclose(together.band_[k], single.band_, rtol=1e-6, atol=1e-7)
        assert together.dual_gap_[k] <= 1e-10 * (len(y) if weight is None else weight.sum())
    assert together.converged_ and set(together.status_) == {"converged"}


def test_scikit_learns_wrapper_finds_the_same():
    X, y = load_wine(return_X_y=True)
    wrapped = OneVsRestClassifier(EntropicClassifier()).fit(X, y)
    model = EntropicClassifier().fit(X, y)
    assert_allclose(model.coef_, np.vstack([one.coef_ for one in wrapped.estimators_]), rtol=1e-8)
    assert_array_equal(model.predict(X), wrapped.predict(X))
    assert_allclose(model.decision_function(X), wrapped.decision_function(X), atol=1e-8)


def test_rows_are_read_for_all_classes_at_once():
    X, y = clouds(
        10, n_samples=20_000, n_features=60, spread=9.0
    )  # too large for a compiled run of steps
    model = EntropicClassifier(leave_one_out=False)
    together = EntropicClassifier(**model.get_params()).fit(X, y)
    sweeps = [single.n_sweeps_ for single in one_by_one(model, X, y)]
    assert together.n_sweeps_ <= 1.5 * max(sweeps) < 0.3 * sum(sweeps)


@pytest.mark.parametrize("settings", [dict(slack=0.0), dict(solver="spectral", slack=0.1),
                                      dict(constraint="equality", slack=1e-6), dict(margin=0.5),
                                      dict(fit_intercept=False)])  # fmt: skip
def test_every_way_to_a_solution(settings):
    X, y = clouds(4, 120, spread=0.5)
    model = EntropicClassifier(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = EntropicClassifier(**settings).fit(X, y)
        singles = one_by_one(model, X, y)
    assert_allclose(together.coef_, np.vstack([one.coef_ for one in singles]), atol=1e-7)
    assert together.status_ == [one.status_ for one in singles]


def test_the_scores_are_those_of_the_coefficients():
    X, y = clouds(5)
    model = EntropicClassifier().fit(X, y)
    scores = model.decision_function(X)
    assert_allclose(scores, X @ model.coef_.T + model.intercept_, rtol=1e-12, atol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.predict(X).dtype == y.dtype


def test_probabilities_sum_to_one_and_agree_with_the_prediction():
    X, y = clouds(6, 500)
    model = EntropicClassifier().fit(X, y)
    rows = np.vstack([X, np.random.default_rng(0).normal(scale=4, size=(20_000, 4))])
    chances = model.predict_proba(rows)
    assert_allclose(chances.sum(axis=1), 1, rtol=1e-14)
    assert np.all((chances > 0) & (chances < 1))
    assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(rows))
    second, first = np.sort(chances, axis=1)[:, -2:].T
    assert np.all(first > second)
    assert_allclose(model.predict_log_proba(rows), np.log(chances))
    # frequencies divided by their sum wherever they name the same class
    scores = model.decision_function(rows)
    pairs = zip(scores.T, model.calibration_, strict=True)
    plain = np.column_stack([np.interp(own, *curve) for own, curve in pairs])
    plain /= plain.sum(axis=1)[:, None]
    best = scores.argmax(axis=1)
    same = (plain > np.take_along_axis(plain, best[:, None], 1)).sum(axis=1) == 0
    same &= (plain == plain.max(axis=1)[:, None]).sum(axis=1) == 1
    assert 0.5 < same.mean() < 1
    assert_allclose(chances[same], plain[same], rtol=1e-12)


def test_classes_that_are_more_frequent_than_the_best_share_with_it():
    curves = [np.array([[-1.0, 1.0], [level, level]]) for level in (0.2, 0.5, 0.4)]
    found = probabilities(np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5]]), curves)
    assert_allclose(found[0], [1 / 3, 1 / 3, 1 / 3], atol=1e-8)
    assert found[0, 0] > found[0, 1] == found[0, 2]
    assert_allclose(found[1], np.array([0.2, 0.5, 0.4]) / 1.1)


def test_possible_classes_by_definition():
    bands = np.array([[-1.0, 1.0], [0.0, 0.5], [-0.5, 2.0]])
    scores = np.array([[2.0, 0.2, 0.0], [0.0, 0.2, -0.5], [-1.0, 0.0, -2.0], [1.0, 0.5, 1.0],
                       [0.0, -1.0, -1.0]])  # fmt: skip
    expected = [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 0]]
    assert_array_equal(possible(scores, bands), np.array(expected, dtype=bool))
    # of two classes it is the one band's rule
    score = np.linspace(-3, 3, 61)
    two = possible(class_scores(score), np.array([[-0.7, 1.3], [-1.3, 0.7]]))
    assert_array_equal(two.sum(axis=1) == 2, (score > -1.3) & (score < 0.7))


def test_bands_sets_and_rejection_agree():
    X, y = clouds(4, 600)
    for certainty in (1.0, 0.9):
        model = EntropicClassifier(certainty=certainty).fit(X, y)
        sets, uncertain = model.predict_set(X), model.in_band(X)
        assert_array_equal(uncertain, sets.sum(axis=1) != 1)
        said = model.predict_with_reject(X, "?")
        assert set(said[uncertain]) <= {"?"}
        assert_array_equal(said[~uncertain], model.classes_[sets[~uncertain].argmax(axis=1)])
        report = model.selective_report(X, y)
        assert report.coverage == np.mean(~uncertain)
        assert_allclose(report.error, np.mean(said[~uncertain] != y[~uncertain]))
        assert_allclose(report.full_error, np.mean(model.predict(X) != y))
        assert len(report.classes) == 4 and "class 03" in str(report)


def test_distance_from_a_tie_is_that_from_the_surface_of_two_classes():
    score = np.array([-2.0, 0.0, 0.5])
    assert_allclose(distance(class_scores(score)), np.abs(score))
    assert_allclose(distance(np.array([[1.0, 4.0, 3.0]])), 0.5)


@pytest.mark.parametrize("level", [0.9, 0.6])
def test_conformal_sets_cover_class_by_class(level):
    X, y = clouds(3, 300)
    model = EntropicClassifier().fit(X, y)
    covered, seen = np.zeros(3), np.zeros(3)
    for seed in range(1, 41):
        X, y = clouds(3, 200, seed=0)
        rng = np.random.default_rng(seed)
        X = X + rng.normal(size=X.shape)
        half = rng.permutation(len(y))
        model.conformalize(X[half[:150]], y[half[:150]], level)
        sets = model.predict_set(X[half[150:]])
        for code, label in enumerate(model.classes_):
            own = y[half[150:]] == label
            covered[code] += sets[own, code].sum()
            seen[code] += own.sum()
    assert np.all(covered >= binom.ppf(0.001, seen.astype(int), level))
    assert model.conformal_.shape == (3,)
    assert_array_equal(model.in_band(X), model.predict_set(X).sum(axis=1) != 1)


def test_too_few_rows_of_a_class_exclude_it_nowhere():
    X, y = clouds(3, 300)
    model = EntropicClassifier().fit(X, y)
    kept = np.flatnonzero((y != "class 01") | (np.cumsum(y == "class 01") <= 3))
    with pytest.warns(UserWarning, match="'class 01' has 3. No score excludes it"):
        model.conformalize(X[kept], y[kept], 0.9)
    assert model.predict_set(X)[:, 1].all()
    with pytest.warns(UserWarning, match="excludes any class, so that every row is uncertain"):
        model.conformalize(X[:6], y[:6], 0.9)
    assert model.in_band(X).all()


def test_error_among_the_certain_is_controlled():
    """Over random calibration sets the true error passes the bound no oftener than it may."""
    X, y = clouds(5, 4000, spread=0.8)
    model = EntropicClassifier(2, bound=5.0).fit(X[:500], y[:500])
    wrong = model.predict(X[500:]) != y[500:]
    failed, certain = 0, []
    for seed in range(100):
        chosen = np.random.default_rng(seed).integers(500, 4000, 600)
        model.control_error(X[chosen], y[chosen], 0.05, 0.9)
        beyond = ~model.in_band(X[500:])
        certain.append(beyond.mean())
        failed += bool(beyond.any()) and wrong[beyond].mean() > 0.05
    assert failed <= binom.ppf(0.999, 100, 0.1)
    assert np.mean(certain) > 0.3
    said = model.predict_with_reject(X[500:], "?")
    assert_array_equal(said[beyond], model.predict(X[500:])[beyond])
    assert_array_equal(said[~beyond], "?")
    # the most probable classes, as few as pass the probability of a certain row
    least, chances = model.error_control_["sure_above"], model.predict_proba(X[500:])
    sets = model.predict_set(X[500:])
    together = np.sum(chances, axis=1, where=sets)
    assert np.all(together[~beyond] > least)
    assert np.all((together - np.min(chances, axis=1, where=sets, initial=1))[~beyond] <= least)
    with pytest.warns(UserWarning, match="without guarantee"):
        model.control_error(max_error=0.05, confidence_level=0.9)


@pytest.mark.parametrize("weighted", ["", "counts", "shares"])
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_batches_give_the_model_of_all_rows(degree, weighted, class_weight):
    X, y = clouds(4, 240)
    rng, columns = np.random.default_rng(1), [X, y]
    if weighted:
        columns.append(rng.integers(0, 4, len(y)) if weighted == "counts" else rng.random(len(y)))
    settings = dict(degree=degree, class_weight=class_weight, bound=1.0, slack=1.0)
    whole = EntropicClassifier(**settings).fit(*columns)
    order = np.argsort(y, kind="stable")  # most batches hold one class only
    batches = [tuple(c[order[i : i + 50]] for c in columns) for i in range(0, 240, 50)]
    model = EntropicClassifier(**settings).fit_batches(batches)
    for name in ("coef_", "intercept_", "band_", "separation_", "dual_gap_"):
        assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-7, atol=1e-8)
    for own, other in zip(model.calibration_, whole.calibration_, strict=True):
        assert_allclose(own, other, rtol=1e-7, atol=1e-8)
    assert_allclose(model.left_out_risk_, whole.left_out_risk_, rtol=1e-7, atol=1e-8)
    assert_array_equal(model.classes_, whole.classes_)
    assert model.n_sweeps_ < 30


def test_a_checkpoint_of_several_classes(tmp_path):
    X, y = clouds(4, 240)
    batches = [(X[i : i + 60], y[i : i + 60]) for i in range(0, 240, 60)]
    whole = EntropicClassifier().fit_batches(batches)

    def breaks_off(after):
        reads = [0]

        def source():
            reads[0] += 1
            if reads[0] > after:
                raise OSError("the disk is gone")
            return iter(batches)

        return source

    path = tmp_path / "fit.checkpoint"
    for after in (2, 4, 6):
        with pytest.raises(OSError, match="disk"):
            EntropicClassifier().fit_batches(breaks_off(after), checkpoint=path)
    model = EntropicClassifier().fit_batches(batches, checkpoint=path)
    assert_array_equal(model.coef_, whole.coef_)
    assert_array_equal(model.band_, whole.band_)
    assert not path.exists()


def test_a_quantity_is_no_class():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    with pytest.raises(ValueError, match="more than 1000 classes"):
        EntropicClassifier().fit_batches([(X, np.arange(3000))])


def test_class_weights_count_for_every_problem():
    X, y = clouds(3, 300)
    factors = {"class 00": 2.0, "class 02": 5.0}
    model = EntropicClassifier(class_weight=factors).fit(X, y)
    weight = np.array([factors.get(label, 1.0) for label in y])
    assert_allclose(model.coef_, EntropicClassifier().fit(X, y, weight).coef_, rtol=1e-7, atol=1e-8)
    y = np.where((y == "class 01") & (np.arange(300) % 5 > 0), "class 00", y)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    weight = np.array([300 / (3 * counts[label]) for label in y])
    balanced = EntropicClassifier(class_weight="balanced").fit(X, y)
    assert_allclose(
        balanced.coef_, EntropicClassifier().fit(X, y, weight).coef_, rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize(
    "labels",
    [[3, 10, 7], [-1, 0, 1], ["a", "bb", "c"], [1.0, 2.0, 5.0], np.array(["x", "y", "z"], object)],
    ids=str,
)
def test_labels_of_every_kind_come_back(labels, tmp_path):
    X, y = clouds(3, 150)
    labels = np.asarray(labels)
    y = labels[np.unique(y, return_inverse=True)[1]]
    model = EntropicClassifier().fit(X, y)
    assert_array_equal(model.classes_, np.unique(y))
    assert model.predict(X).dtype == y.dtype and model.score(X, y) > 0.5
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.in_band(X), model.in_band(X))
    again.conformalize(X, y, 0.8).save(tmp_path / "model")
    assert_array_equal(load_model(tmp_path / "model").predict_set(X), again.predict_set(X))
    again.control_error(X, y, 0.2, 0.5).save(tmp_path / "model")
    assert_array_equal(load_model(tmp_path / "model").predict_set(X), again.predict_set(X))


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("coef_", lambda v: v[:2]),
        ("intercept_", lambda v: v[:1]),
        ("classes_", lambda v: v[:2]),
        ("band_", lambda v: v[:2]),
        ("band_", lambda v: v * np.nan),
        ("loo_decision_", lambda v: v[0]),
        ("calibration_", lambda v: v[:2]),
        ("calibration_", lambda v: [curve[::-1] for curve in v]),
    ],
)
def test_a_model_file_that_does_not_fit_itself(name, spoil, tmp_path):
    model = EntropicClassifier().fit(*clouds(3, 150))
    setattr(model, name, spoil(getattr(model, name)))
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="damaged or foreign model file"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("solver", ["auto", "spectral"])
def test_a_callback_is_told_of_which_class_and_stops_all(solver):
    X, y = clouds(3, 200)
    told = []
    model = EntropicClassifier(solver=solver)
    model.set_params(callback=lambda figures: told.append(figures["class"])).fit(X, y)
    assert set(told) == set(y)
    model.set_params(callback=lambda figures: figures["iteration"] >= 1).fit(X, y)
    assert set(model.status_) == {"interrupted"} and not model.converged_


def test_an_error_in_a_callback_is_the_callers():
    def callback(figures):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        EntropicClassifier(callback=callback).fit(*clouds(3, 100))


def test_a_warm_start_needs_next_to_no_steps():
    X, y = clouds(4, 300)
    model = EntropicClassifier(warm_start=True).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert np.all(model.n_iter_ <= 1) and np.all(first > 2)
    model.fit(X, y == y[0])  # of another shape: from the start
    assert model.coef_.shape == (1, 4)


def test_what_directions_cannot_mean():
    X, y = clouds(3, 100)
    with pytest.raises(ValueError, match="monotonic_cst directs the score of two classes"):
        EntropicClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, y)


def test_a_class_without_weight_is_named():
    X, y = clouds(3, 100)
    with pytest.raises(ValueError, match="weight 0 have the label class 01; give every class"):
        EntropicClassifier().fit(X, y, (y != "class 01").astype(float))


def test_unconverged_classes_are_named():
    X, y = clouds(3, 200)
    with pytest.warns(UserWarning, match="3 of 3 classes against the rest did not converge"):
        model = EntropicClassifier(max_iter=1).fit(X, y)
    assert not model.converged_ and model.n_iter_.tolist() == [1, 1, 1]


def test_the_search_judges_the_classes_together():
    X, y = load_iris(return_X_y=True)
    search = EntropicClassifierCV(degrees=(1, 2), bounds=(1.0, 3.0)).fit(X, y)
    assert search.coef_.shape[0] == 3 and search.best_score_ >= 0.96
    # the score is that of the left-out scores of the candidate taken
    best = EntropicClassifier(**search.best_params_).fit(X, y)
    right = best.classes_[best.loo_decision_.argmax(axis=0)] == y
    assert abs(search.best_score_ - right.mean()) <= 1 / 150
    for scoring in ("neg_log_loss", "balanced_accuracy", "roc_auc"):
        other = EntropicClassifierCV((1, 2), (1.0, 3.0), scoring=scoring, cv=3).fit(X, y)
        assert other.score(X, y) > 0.94


def test_two_classes_keep_their_shapes():
    X, y = clouds(2, 200)
    model = EntropicClassifier().fit(X, y)
    assert model.coef_.shape == (1, 4) and model.decision_function(X).shape == (200,)
    assert isinstance(model.band_, tuple) and model.loo_decision_.shape == (200,)
    assert isinstance(model.status_, str) and isinstance(model.n_iter_, int)
    assert isinstance(model.dual_gap_, float) and model.calibration_.shape[0] == 2
