"""scikit-learn's own checks of an estimator, all of them, with none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from entropic import EntropicClassifier


@parametrize_with_checks(
    [
        EntropicClassifier(),
        EntropicClassifier(constraint="inequality", slack=1.0, class_weight="balanced"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
