"""scikit-learn's own checks of an estimator, all of them, with none expected to fail."""

from paper_sets import PAPER
from sklearn.utils.estimator_checks import parametrize_with_checks

from entropic import EntropicClassifier, EntropicClassifierCV


@parametrize_with_checks(
    [
        EntropicClassifier(),
        EntropicClassifier(**PAPER, class_weight="balanced"),
        EntropicClassifier(degree=2),
        EntropicClassifierCV(degrees=(1,), bounds=(1.0,), slacks=(0.1, 1.0)),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
