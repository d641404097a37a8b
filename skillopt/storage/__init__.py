"""Persistent state under `.skillopt`: the ledger, locks, and background jobs.

Accepted versions are git commits, which versions writes.
"""
