"""Keys of recorded answers: digests of everything that can change them."""

from skillopt.tasks import digest_of

__all__ = ["reply_key", "rollout_key"]


def rollout_key(skill_digest: str, task_digest: str, harness: str, repeat: int) -> str:
    """Return the key of a rollout: a digest of everything that can change its result."""
    return digest_of("rollout", skill_digest, task_digest, harness, str(repeat))


def reply_key(model: str, prompt: str) -> str:
    """Return the key of a model's reply."""
    return digest_of("reply", model, prompt)
