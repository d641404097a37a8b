"""Published benchmarks, run with this product so that others can check the numbers.

Here live how each benchmark is obtained, read, scored and checked, the command that measures no skill, a start text and
a trained text on held-out tasks, and numbers that others published. No data of a benchmark lies here: it comes from a
wheel, or from a folder that the user names.
"""
