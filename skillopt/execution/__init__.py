"""Running rollouts and model calls: their drivers, retries, metering, budgets, threads, Ray.

Which rollouts a run needs is decided in loop, and their results are kept in storage.
"""
