"""Choosing a model on the paper's sets, beside a grid search of scikit-learn with folds.

``extra_info`` holds the accuracy on the paper's test part, which no search has seen.

    pytest bench/test_search.py --benchmark-group-by=group
"""

import sys
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from entropic import EntropicClassifierCV

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from paper_sets import SETS


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


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["entropic", "folds"])
def test_search(benchmark, name, kind):
    X, y = SETS[name][1]()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=42)
    degrees = [1] if name == "breast cancer" else [1, 2, 3, 4, 5, 6]
    search = EntropicClassifierCV() if kind == "entropic" else folds(degrees)
    benchmark.group = name
    benchmark.pedantic(search.fit, (X, y), rounds=3)
    results = search.results_ if kind == "entropic" else search.cv_results_
    benchmark.extra_info["candidates"] = len(results[next(iter(results))])
    benchmark.extra_info["accuracy"] = round(float(search.score(X_test, y_test)), 3)
