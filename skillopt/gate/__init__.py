"""Is the candidate better than the incumbent: paired tests, verdicts, and the score to expect.

Which rollouts are compared is decided in loop and review.
"""
