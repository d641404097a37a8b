"""Signs that a rollout got its score without the work: rollouts under trained text against ordinary ones of the task.

Nothing here reads the ledger, and nothing changes a score: what is found is for a person to look at.
"""
