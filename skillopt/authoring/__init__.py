"""What is written into a project for its owner: lines of skillopt.toml, suites to start from, drafts of tasks.

Nothing that people wrote is changed: lines are added, and files that are there stay.
"""
