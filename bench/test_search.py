"""Choosing a model on the paper's sets, beside a grid search of scikit-learn with folds.

``extra_info`` holds the accuracy on the paper's test part, which no search has seen.
"""

import pytest
from problems import SMOKE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from entropic import EntropicClassifierCV
from entropic.paper.data_sets import SETS, split

NAMES = ["blobs"] if SMOKE else list(SETS)


def folds(degrees):
    """Three folds over degrees and penalties: the protocol of the paper's own grid search."""
    model = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(include_bias=False),
        StandardScaler(),
        LogisticRegression(max_iter=1000),
    )
    grid = {"polynomialfeatures__degree": degrees, "logisticregression__C": [0.1, 1, 10, 100]}
    return GridSearchCV(model, grid, cv=3, scoring="neg_log_loss")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["entropic", "three folds"])
def test_search(measure, name, kind):
    X, X_test, y, y_test = split(*SETS[name]())
    degrees = [1] if name == "breast cancer" else [1, 2, 3, 4, 5, 6]
    search = EntropicClassifierCV() if kind == "entropic" else folds(degrees)
    measure("search", name, kind, lambda: search.fit(X, y), rounds=3, warm=False)
    results = search.results_ if kind == "entropic" else search.cv_results_
    measure.note({
        "candidates": len(results[next(iter(results))]),
        "accuracy": round(float(search.score(X_test, y_test)), 4),
    })  # fmt: skip
