"""Loopback stand-ins for the APIs of model providers, with a model that follows the skill it has read.

Tests and benchmarks both need them and may not import each other. Fakes that only tests need are in `tests/fakes/`.
"""
