"""When a skill is loaded: requests that say so, how often the target does as they say, and training the description.

The body is trained in loop; here it is never touched. Formats of trigger sets are read in suites.
"""
