"""What lasts under `.skillopt`: the ledger, locks, and jobs that outlive their client.

Accepted versions are in git, by versions.
"""
