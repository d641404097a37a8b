"""Pull requests as files, where there is no forge."""

from pathlib import Path

import pytest

from skillopt.errors import ForgeDownError
from skillopt.nightly.folder_forge import FolderForge
from skillopt.protocols import Forge
from tests.contracts.forge_contract import ForgeContract


class TestFolderForge(ForgeContract):
    @pytest.fixture
    def forge(self, tmp_path: Path) -> Forge:
        return FolderForge(tmp_path / "pull-requests")

    def remarks(self, forge: Forge, number: int) -> list[str]:
        ((url,),) = ([one.url for one in forge.pull_requests("skillopt/rows") if one.number == number],)
        return Path(url).read_text(encoding="utf-8").strip().split("\n\n---\n\n")[1:]

    def test_the_text_is_there_to_read_until_it_is_closed(self, forge: Forge, tmp_path: Path) -> None:
        opened = forge.create("skillopt/rows", "main", "Better rows", "Look:\n\n- sorted")
        text = tmp_path / "pull-requests" / "skillopt-rows.md"
        assert opened.url == str(text)
        assert text.read_text(encoding="utf-8") == "# Better rows\n\nLook:\n\n- sorted\n"
        forge.close(opened.number)
        assert not text.exists()

    def test_a_folder_that_cannot_be_used_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ForgeDownError, match="make it writable or move it away"):
            FolderForge(tmp_path / "file").create("skillopt/rows", "main", "Title", "Body")

    def test_a_record_that_is_damaged_is_named(self, forge: Forge, tmp_path: Path) -> None:
        forge.create("skillopt/rows", "main", "Title", "Body")
        (tmp_path / "pull-requests" / "1.json").write_text("{")
        with pytest.raises(ForgeDownError, match="pull-requests"):
            forge.pull_requests("skillopt/rows")
