"""Searching for settings: Optuna studies, and what they may search.

Measuring settings is the caller's: whole runs of the loop (commands.tune), or simulated worlds (benchmarks.tune).
"""
