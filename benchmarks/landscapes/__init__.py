"""A simulator with planted truth: worlds in which the true expected score of any document is known."""
