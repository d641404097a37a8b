"""The scanner detect-secrets, an extra: its detectors of known shapes, without those that would ask a network."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from skillopt.errors import UsageError
from skillopt.harvest.redaction import FindSecrets

__all__ = ["secret_scanner"]

_BY_ENTROPY: Final = frozenset({"Base64HighEntropyString", "HexHighEntropyString"})
"""They report every word of a line that is scanned alone; random words are found in redaction."""


@contextmanager
def secret_scanner() -> Iterator[FindSecrets]:
    """Return a function that finds the secrets on a line."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # noqa: PLC0415 - an extra
        from detect_secrets.core.scan import scan_line  # noqa: PLC0415 - the same
        from detect_secrets.settings import transient_settings  # noqa: PLC0415 - the same
    except ImportError as error:
        raise UsageError(
            "expected the scanner that takes secrets out of sessions, found no detect-secrets; install it with "
            "pip install 'PATH-OF-CLONE[harvest]'"
        ) from error
    kinds: Collection[type] = get_mapping_from_secret_type_to_class().values()
    names = sorted(kind.__name__ for kind in kinds)
    plugins = [{"name": name} for name in names if name not in _BY_ENTROPY]

    def find(line: str) -> Iterator[str]:
        for found in scan_line(line):
            if found.secret_value:
                yield found.secret_value

    with transient_settings({"plugins_used": plugins}):
        yield find
