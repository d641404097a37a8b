"""The table `[harvest]` of skillopt.toml: whether past sessions may be read at all, and which."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import SettingsError

__all__ = ["HarvestSettings", "read_harvest_settings"]


class HarvestSettings(BaseModel):
    """What `skillopt harvest` may read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: Annotated[
        bool, Field(description="Whether `skillopt harvest` may read past sessions on this machine.")
    ] = False
    clients: Annotated[
        tuple[Literal["claude-code", "codex"], ...], Field(description="Whose sessions.", min_length=1)
    ] = ("claude-code", "codex")
    days: Annotated[int, Field(description="Sessions that were written to within so many days.", ge=1, le=3650)] = 90


def read_harvest_settings(origin: str, table: object) -> HarvestSettings:
    """Read the table."""
    if not isinstance(table, dict | None):
        raise SettingsError(f"{origin}: expected the table [harvest], found harvest = {table!r}")
    try:
        return HarvestSettings.model_validate(table or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        known = ", ".join(HarvestSettings.model_fields)
        raise SettingsError(
            f"{origin} [harvest] {place}: {first['msg']}, found {first['input']!r}; its settings are {known}"
        ) from error
