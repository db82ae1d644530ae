"""What tests of model files share: the data of a model, and whether two of them are the same."""

import numpy as np
from sklearn.datasets import make_classification


def data(labels=(0, 1)):
    X, y = make_classification(80, 5, random_state=0)
    return X, np.array(labels)[y]


def same(loaded, model, X):
    assert loaded.get_params() == model.get_params()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.in_band(X).tolist() == model.in_band(X).tolist()
