"""The score to expect of a version when it is measured again, in the words that all outputs share."""

from skillopt.gate.headline import metric_label

__all__ = ["expectation"]


def expectation(measured: float | None, expected: float | None, metric: str = "") -> str:
    """Say the score to expect; empty where it is not known, or is the measured one.

    >>> expectation(0.8, 0.688), expectation(0.8, 0.79999), expectation(0.8, None, "mixed")
    ('expect a score of 0.688', '', '')
    """
    if measured is None or expected is None or round(expected, 3) >= round(measured, 3):
        return ""
    return f"expect a {metric_label(metric)} of {expected:.3f}"
