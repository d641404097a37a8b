"""Searches for good settings, as Optuna studies.

What one run does with its settings is in runs and loop.
"""
