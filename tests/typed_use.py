"""A user's program, as type checkers see it: mypy reads it, strictly, and nothing runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import entropic
from entropic import EntropicClassifier, EntropicClassifierCV, Monomials
from entropic.dask import DaskEntropicClassifier
from entropic.display import BoundaryDisplay, ReliabilityDisplay, ScoreHistogramDisplay
from entropic.rows.batches import ArrayFiles, LibsvmFiles, TableFiles
from entropic.solvers.certificate import Bracket
from entropic.solvers.outcome import Outcome
from entropic.summary import Summary
from entropic.uncertainty.report import SelectiveReport

Floats = NDArray[np.floating[Any]]

X: NDArray[np.float64] = np.eye(4)
y: list[str] = ["a", "a", "b", "b"]

model = EntropicClassifier(2, bound=1.0, class_weight={"a": 2.0}, monotonic_cst=[0, 0, 1, -1])
assert_type(model.fit(X, y, sample_weight=np.ones(4)), EntropicClassifier)
assert_type(model.decision_function(X), Floats)
assert_type(model.predict_proba([[0.0, 1.0, 2.0, 3.0]]), Floats)
assert_type(model.in_band(X), NDArray[np.bool_])
assert_type(model.predict_set(X), NDArray[np.bool_])
assert_type(model.score(X, y), float)
assert_type(model.coef_, Floats)
assert_type(model.selective_report(X, y), SelectiveReport)
assert_type(model.selective_report(X, y).classes[0].precision, float)
assert_type(model.summary(5), Summary)
model.conformalize(X, y, 0.9).control_error(max_error=0.05).save("model")
assert_type(entropic.load_model("model"), EntropicClassifier)

search = EntropicClassifierCV(degrees=[1, 2], bounds=(0.5, 1.0), max_seconds=60.0)
assert_type(search.fit(X, y), EntropicClassifierCV)
assert_type(search.best_params_, dict[str, Any])
assert_type(search.expected_seconds(1000, 20), float)

model.fit_batches([(X, y), (X, y, np.ones(4))], classes=["a", "b"], checkpoint="pass")
model.fit_batches(lambda: iter([(X, y)]))
model.fit_batches(ArrayFiles("X.npy", "y.npy"))
model.fit_batches(TableFiles(["a.parquet", "b.parquet"], "label", weight="w"))
model.fit_batches(LibsvmFiles("rows.svm", n_features=10))

outcome = entropic.solve(X, lower=-1.0, upper=np.ones(4), constraint="inequality")
assert_type(outcome, Outcome)
assert_type(outcome.converged, bool)
bracket = entropic.separability(X, y, degree=2)
assert_type(bracket, Bracket)
assert_type(bracket.separable, bool | None)
names: list[str] = list(Monomials(2).fit(X).get_feature_names_out())
entropic.show_config()
version: str = entropic.__version__

assert_type(BoundaryDisplay.from_estimator(model, X, y, features=(0, 1)), BoundaryDisplay)
ScoreHistogramDisplay.from_estimator(model, X, y).plot(bins=20)
ReliabilityDisplay.from_predictions(y, model.predict_proba(X), n_bins=5)
DaskEntropicClassifier(1, client=None).fit(X, y)

# What is wrong is found: with warn_unused_ignores a line that is not refused is an error itself.
EntropicClassifier(bond=1.0)  # type: ignore[call-arg]
EntropicClassifier(constraint="none")  # type: ignore[arg-type]
EntropicClassifierCV(warm_start=True)  # type: ignore[call-arg]
model.save(3)  # type: ignore[arg-type]
entropic.solve(X, slack="soft")  # type: ignore[arg-type]
print(entropic.no_such_name)  # type: ignore[attr-defined]
