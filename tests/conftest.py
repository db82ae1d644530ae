"""What every test shares: the name of the backend that is being tested, in the report's head."""

from entropic.solve.backend import name


def pytest_report_header():
    return f"entropic backend: {name}"
