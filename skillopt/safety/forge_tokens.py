"""Environment variables with a token of a forge, by the names that forges and their tools give them."""

from typing import Final

__all__ = ["FORGE_TOKENS"]

FORGE_TOKENS: Final = (
    *("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_PAT"),
    *("GITLAB_TOKEN", "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN", "CI_JOB_JWT", "CI_REPOSITORY_URL"),
    *("INPUT_GITHUB_TOKEN", "INPUT_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
)
"""No process that runs models, agents or verifiers is given one."""
