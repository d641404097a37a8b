"""Measurements of scale: workers, machines, large libraries, nights, and what breaks first up to 10^6 rollouts.

A measurement is a module with `measure(quick)`, which gives a dataclass, and `markdown(result)`, which writes its part
of docs/scale.md; `plots(result)` where a figure says more. `python -m benchmarks.scale` runs those that there are.
"""
