"""Scripts that let the published programs score recorded answers, each in a Python that has what its program needs.

Each reads JSON lines (`answer`, `expected`) from stdin and writes one score a line. Nothing of a program lies here.
"""
