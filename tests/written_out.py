"""The problem, its dual and its derivatives, as docs/mathematics.md writes them."""

import numpy as np
from scipy.special import xlogy


def problem(rng, n_samples=30, n_features=4):
    D = rng.normal(size=(n_samples, n_features)) + 0.4
    q, y = rng.uniform(0.2, 2, n_samples), rng.normal(scale=0.2, size=n_samples)
    low, high = -rng.uniform(0.3, 2, n_features), rng.uniform(0.3, 2, n_features)
    return D, q, y, low, high


def primal(D, q, y, low, high, alpha, loss, w):
    """F(w) by the formula of section 3.1."""
    p = (w - low) / (high - low)
    entropy = alpha * np.sum(xlogy(p, p) + xlogy(1 - p, 1 - p))
    return entropy + np.sum(q * loss.value(loss.log_margin(D @ w - y)))


def dual(D, q, y, low, high, alpha, slack, multipliers):
    """G of multipliers by the formula of section 2.1."""
    tau, middle, half = D.T @ multipliers, (low + high) / 2, (high - low) / 2
    return (
        np.sum(middle * tau + alpha * np.log(2 * np.cosh(half * tau / alpha)))
        + np.sum(q * np.exp(-multipliers / q))
        + slack / 2 * np.sum(multipliers**2 / q)
        - multipliers @ y
    )


def pieces(D, q, y, low, high, alpha, loss, w):
    """F(w), G of the multipliers that w implies, and their tau."""
    multipliers = -q * loss.log_margin(D @ w - y)
    F = primal(D, q, y, low, high, alpha, loss, w)
    return F, dual(D, q, y, low, high, alpha, loss.slack, multipliers), D.T @ multipliers


def jacobian(function, at, h=1e-6):
    """By central differences, a column a coordinate."""
    steps = h * np.eye(len(at))
    return np.array([(function(at + step) - function(at - step)) / (2 * h) for step in steps]).T
