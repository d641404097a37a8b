"""A run whose caps were raised does not go on for a command that gives lower ones."""

from contextlib import closing
from pathlib import Path

import pytest

from skillopt.errors import UsageError
from skillopt.execution.recording import config_of, record_of
from skillopt.loop.events import CapsRaised, encode_event
from skillopt.presets import make_settings
from skillopt.runs.raised_caps import check_not_lower
from skillopt.storage.ledger import Ledger
from tests.unit.loop.test_optimizer import SKILL, suite


def test_the_first_cap_given_again_is_refused_once_it_was_raised(tmp_path: Path) -> None:
    settings = make_settings(("test", {"max_rollouts": 60}))
    with closing(Ledger.open(tmp_path)) as ledger:
        record = ledger.begin_run(record_of(SKILL, suite(), config_of(settings, ()), 0))
        check_not_lower(ledger, record, settings)
        ledger.append_event(record.id, 0, *encode_event(CapsRaised(500, 0, 0.0, 0)))
        raised = make_settings(("test", {"max_rollouts": 500, "max_calls": 0, "max_usd": 0, "max_tokens": 0}))
        check_not_lower(ledger, record, raised)
        with pytest.raises(UsageError, match=r"goes on under max_rollouts=500.*found max_rollouts=60"):
            check_not_lower(ledger, record, settings)
