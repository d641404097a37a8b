"""Running rollouts and model calls: who plays which role, metering, budgets, circuit breaker, threads.

Which rollouts a run needs is decided in loop, and what they gave is kept in storage.
"""
