"""Settings with other constants than those of their preset, which no user can set."""

from collections.abc import Mapping

from skillopt.settings import TABLES, Settings, make_settings


def settings_with(values: Mapping[str, object]) -> Settings:
    """Make settings of values, some of which may be constants of the preset."""
    made = make_settings(("test", {name: value for name, value in values.items() if name in TABLES}))
    constants = {name: value for name, value in values.items() if name not in TABLES}
    own = {name: value for name, value in constants.items() if name in Settings.model_fields}
    made = Settings.model_validate({**made.model_dump(), **own})
    return made.model_copy(update={name: value for name, value in constants.items() if name not in own})
