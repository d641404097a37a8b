"""Masking: a planted secret is in nothing that is recorded, sent to a judge or printed."""

import io
import json
from base64 import b64encode
from contextlib import closing
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.execution.drivers import Drivers
from skillopt.execution.masking import MaskedStream, Masking, environment_masking
from skillopt.execution.metering import MeteredModel
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Judgement, Message, Rollout, Score, Status, ToolCall, Trajectory
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import InlineExecutor, ScriptedHarness, ScriptedModel

SECRETS = st.text(
    st.sampled_from("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789+/=_.-"), min_size=12, max_size=60
)
AROUND = st.text(st.sampled_from(" \nabc#'\"é漢"), max_size=30)


@given(SECRETS, AROUND, AROUND)
def test_a_secret_is_gone_wherever_it_stands_and_however_it_is_encoded(secret: str, before: str, after: str) -> None:
    masking = Masking.of({"MY_API_KEY": secret})
    forms = [
        secret,
        quote(secret, safe=""),
        quote(secret),
        json.dumps(secret)[1:-1],
        escape(secret),
        secret.encode().hex(),
    ]
    encoded = b64encode(f"{before}{secret}{after}".encode()).decode()
    for form in forms:
        assert form not in masking.text(f"{before}{form}{after}")
    assert masking.text(encoded) != encoded


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        *(("ANTHROPIC_API_KEY", True), ("GITHUB_TOKEN", True), ("DB_PASSWORD", True), ("PGPASSWORD", True)),
        *(("OPENAI_APIKEY", True), ("CI_JOB_TOKEN", True), ("PWD", False), ("OLDPWD", False), ("MONKEY", False)),
        *(("AWS_SECRET_ACCESS_KEY", True), ("PATH", False), ("MAX_TOKENS_TOTAL", False), ("SSH_AUTH_SOCK", False)),
        ("GOOGLE_TOKEN_FILE", False),
    ],
)
def test_the_name_of_a_variable_says_whether_its_value_is_secret(name: str, *, hidden: bool) -> None:
    assert Masking.of({name: "plain-words-only"}).secrets == (
        frozenset({"plain-words-only"}) if hidden else frozenset()
    )


def test_a_short_value_hides_no_ordinary_word() -> None:
    assert Masking.of({"MY_TOKEN": "none"}).text("none of it") == "none of it"


SECRET = "correct-horse-battery"  # noqa: S105 - planted by this test
EVERYWHERE = Rollout(
    "t",
    "",
    0,
    Trajectory(
        (Message("assistant", SECRET, (ToolCall("Bash", SECRET, SECRET),)),), SECRET, (SECRET,), Status.OK, SECRET
    ),
    Status.OK,
    Score(0.5, passed=False, feedback=SECRET, judgement=Judgement(("c",), ("y",), SECRET, addressed=SECRET)),
    SECRET,
)


def test_every_text_of_a_rollout_is_masked_and_its_score_stays() -> None:
    masked = Masking(frozenset({SECRET})).rollout(EVERYWHERE)
    before, after = (str(asdict(one)) for one in (EVERYWHERE, masked))
    assert SECRET not in after
    assert before.count(SECRET) == after.count("[secret]") == 10
    assert masked.score is not None
    assert masked.score.value == 0.5


def test_a_judge_is_never_sent_a_secret() -> None:
    model = MeteredModel(ScriptedModel(str.upper), [], "judge", masking=Masking(frozenset({SECRET})))
    assert model.reply(f"Judge this: {SECRET}").text == "JUDGE THIS: [SECRET]"


def test_what_is_printed_is_masked_and_the_stream_is_the_stream_otherwise() -> None:
    raw = io.StringIO()
    stream = MaskedStream(raw, Masking(frozenset({SECRET})))
    assert stream.write(f"key {SECRET}\n") == len(SECRET) + 5
    stream.writelines(["a\n", f"{SECRET}\n"])
    assert raw.getvalue() == "key [secret]\na\n[secret]\n"
    assert stream.isatty() is False


@dataclass
class _Said:
    key: str

    def __call__(self, _: RolloutRequest, workspace: str) -> Trajectory:
        (Path(workspace) / "out").write_text(self.key)
        return Trajectory((Message("assistant", f"I read {self.key}"),), f"the key is {self.key}")


def test_a_key_that_a_target_finds_is_scored_and_recorded_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PROVIDER_KEY", SECRET)
    environment_masking.cache_clear()
    try:
        with closing(Ledger.open(tmp_path)) as ledger:
            drivers = Drivers(ScriptedHarness(_Said(SECRET)), ScriptedModel(lambda _: f"add: {SECRET}"))
            runner = RecordedRunner(ledger, "run", drivers, RunObserver(), InlineExecutor())
            exact = VerifierSpec("exact", json.dumps({"value": f"the key is {SECRET}"}))
            (found,) = runner.rollouts([RolloutRequest(None, Task("t", "Say it.", exact))])
            (reply,) = runner.replies(["Propose."])
            assert found.score is not None
            assert found.score.passed
            assert found.trajectory.answer == "the key is [secret]"
            assert reply.text == "add: [secret]"
            again = RecordedRunner(ledger, "run", drivers, RunObserver(), InlineExecutor())
            assert again.rollouts([RolloutRequest(None, Task("t", "Say it.", exact))]) == (found,)
    finally:
        environment_masking.cache_clear()
    assert all(SECRET.encode() not in place.read_bytes() for place in tmp_path.rglob("*") if place.is_file())


def test_only_the_owner_may_look_into_the_ledgers_folder(tmp_path: Path) -> None:
    (tmp_path / ".skillopt").mkdir(mode=0o755)  # as an older version left it
    Ledger.open(tmp_path).close()
    assert (tmp_path / ".skillopt").stat().st_mode & 0o777 == 0o700


def test_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    key = json.dumps({"type": "service_account", "private": "qwertzui-asdf"}, indent=1)
    masking = Masking.of({"GCP_CREDENTIALS": key})
    assert "qwertzui" not in masking.text(json.dumps({"out": key}))
    assert "qwertzui" not in masking.text(key.splitlines()[2])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n> ", "\n    ", "\\n"])
def test_a_secret_that_was_wrapped_is_masked_in_any_place(end: str) -> None:
    value = "plain-words-and-42-more"
    masking = Masking.of({"MY_API_KEY": value})
    for place in range(1, len(value)):
        assert masking.text(f"key {value[:place]}{end}{value[place:]}.") == "key [secret]."
