"""What becomes of attacks, class by class: `python -m benchmarks.trust` prints one table.

Each class is a module with rows of attacks and of honest controls; they are tests too.
"""
