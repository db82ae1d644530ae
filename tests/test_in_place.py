"""scikit-learn's own tests of what builds on a classifier, with ours for LogisticRegression.

Its test files are loaded anew with the class replaced, and the tests listed here are run as they
are. Parameters that only a logistic regression has are left out.
"""

import importlib.util
import sys

import pytest
import sklearn.linear_model

from entropic import EntropicClassifier

pytest.importorskip("sklearn.ensemble.tests", reason="scikit-learn was installed without its tests")

pytestmark = [
    pytest.mark.one_backend,  # what it shows is how parts fit together
    pytest.mark.filterwarnings(
        "ignore:(Number of classes|divide by zero):RuntimeWarning"
    ),  # theirs
]

OURS = {"C", "class_weight", "fit_intercept", "n_jobs", "verbose", "warm_start"}


class InPlace(type):
    """Calls make an EntropicClassifier, and instances of one are instances of this."""

    def __call__(cls, *_, **parameters):
        # one scaling for dense and sparse rows, as a logistic regression has
        ours = {name: value for name, value in parameters.items() if name in OURS}
        return EntropicClassifier(standardize=False, **ours)

    def __instancecheck__(cls, estimator):
        return isinstance(estimator, EntropicClassifier)


LogisticRegression = InPlace("LogisticRegression", (), {})

# Left out, beside what takes long or ends in other numbers: test_bagging's test_probability and
# test_bagging_small_max_features, whose resamples leave a class without weight, which is refused as
# SVC refuses it; test_temperature_scaling, which sets C to infinity; tests that look for the name
# "logisticregression" or for sparsify(); test_sparse_classification, which sets other parameters;
# test_search_cv_sample_weight_equivalence, where the probabilities of weighted and of repeated rows
# agree to 4e-6 and not to 1e-7: with more columns than rows their left-out scores round apart.
LISTED = {
    "ensemble.tests.test_stacking": """
        test_stacking_classifier_sparse_passthrough test_stacking_classifier_error
        test_stacking_randomness test_stacking_with_sample_weight test_stacking_cv_influence
        test_stacking_prefit test_stacking_prefit_error test_get_feature_names_out
        test_stacking_final_estimator_attribute_error
    """,
    "ensemble.tests.test_voting": """
        test_voting_classifier_estimator_init test_predictproba_hardvoting test_notfitted
        test_majority_label_iris test_tie_situation test_weights_iris
        test_predict_on_toy_problem test_predict_proba_on_toy_problem test_gridsearch
        test_voting_classifier_set_params test_set_estimator_drop
        test_estimator_weights_format test_transform test_none_estimator_with_weights
        test_n_features_in test_voting_verbose test_get_features_names_out_classifier
    """,
    "ensemble.tests.test_bagging": """
        test_estimators_samples test_estimators_samples_deterministic
        test_bagging_allow_nan_tag
    """,
    "frozen.tests.test_frozen": "test_frozen_methods test_frozen_params",
    "inspection._plot.tests.test_boundary_decision_display": """
        test_input_data_dimension test_check_boundary_response_method
        test_multiclass_predict test_dataframe_labels_used test_string_target
        test_dataframe_support test_class_of_interest_binary
        test_class_of_interest_multiclass
        test_subclass_named_constructors_return_type_is_subclass
    """,
    "inspection.tests.test_permutation_importance": """
        test_permutation_importance_mixed_types
        test_permutation_importance_mixed_types_pandas
        test_permutation_importance_max_samples_error
        test_permutation_importance_array_function_not_called
    """,
    "feature_selection.tests.test_from_model": "test_sample_weight test_2d_coef",
    "feature_selection.tests.test_rfe": "test_rfe_n_features_to_select_warning",
    "model_selection.tests.test_classification_threshold": """
        test_fit_and_score_over_thresholds_curve_scorers
        test_fit_and_score_over_thresholds_sample_weight
        test_tuned_threshold_classifier_no_binary
        test_tuned_threshold_classifier_conflict_cv_refit
        test_tuned_threshold_classifier_thresholds_array
        test_fixed_threshold_classifier_equivalence_default test_fixed_threshold_classifier
        test_fixed_threshold_classifier_metadata_routing
        test_fixed_threshold_classifier_fitted_estimator
        test_fixed_threshold_classifier_classes_
    """,
    "model_selection.tests.test_search": """
        test_unsupported_sample_weight_scorer
        test_cv_results_dtype_issue_29074 test_cv_results_multi_size_array
    """,
    "model_selection.tests.test_validation": """
        test_cross_validate_array_function_not_called
        test_cross_val_predict_predict_proba_shape test_cross_val_predict_input_types
        test_cross_val_predict_unbalanced test_cross_val_score_failing_scorer
    """,
    "tests.test_calibration": """
        test_calibration_votingclassifier test_plot_calibration_curve_pipeline
        test_calibration_display_name_multiple_calls test_calibration_display_ref_line
        test_calibration_display_kwargs test_calibration_display_pos_label
        test_calibrated_classifier_cv_double_sample_weights_equivalence
    """,
    "tests.test_multiclass": """
        test_ovr_always_present test_ovr_binary test_support_missing_values
        test_constant_int_target
    """,
    "tests.test_multioutput": """
        test_multi_output_not_fitted_error test_multi_output_delegate_predict_proba
        test_classifier_chain_fit_and_predict test_base_chain_random_order
    """,
    "tests.test_pipeline": """
        test_pipeline_estimator_type test_classes_property test_set_params_nested_pipeline
        test_features_names_passthrough test_feature_names_count_vectorizer
        test_pipeline_param_error test_pipeline_missing_values_leniency
        test_pipeline_set_output_integration
    """,
    "utils.tests.test_response": """
        test_get_response_values_classifier_unknown_pos_label
        test_get_response_values_binary_classifier_decision_function
        test_get_response_values_binary_classifier_predict_proba
        test_get_response_decision_function test_get_response_values_multiclass
        test_get_response_values_with_response_list
        test_response_values_type_of_target_on_classes_no_warning
    """,
}


def loaded(name):
    """A test file of scikit-learn's, read anew while LogisticRegression is ours."""
    spec = importlib.util.find_spec(f"sklearn.{name}")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sklearn.linear_model, "LogisticRegression", LogisticRegression)
        spec.loader.exec_module(module)
    return module


def is_fixture(value):
    return type(value).__name__ == "FixtureFunctionDefinition"


for _name, _tests in LISTED.items():
    _module = loaded(_name)
    for _test in _tests.split():
        if hasattr(_module, _test):  # other versions have other tests
            setattr(
                sys.modules[__name__],
                f"{_test}__{_name.rpartition('test_')[2]}",
                getattr(_module, _test),
            )
    for _fixture, _value in vars(_module).items():
        if is_fixture(_value):
            setattr(sys.modules[__name__], _fixture, _value)


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def pyplot():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    plt.close("all")
    yield plt
    plt.close("all")


@pytest.mark.backend_free
def test_the_list_is_long():
    assert sum(len(names.split()) for names in LISTED.values()) >= 60
