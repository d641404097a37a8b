"""The offline stand-in: a program that follows a skill's rules on tables, and one that proposes edits to them.

Nothing outside of demonstrations, tests and benchmarks needs it, and no real model or harness is here.
"""
