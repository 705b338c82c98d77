"""How a run is shown and where its result goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.job_types import Research

if TYPE_CHECKING:
    from autoreason.run.prepared import PreparedRun
    from autoreason.task import Task


class OutputOptions(Struct, frozen=True):
    """The options of a command that say how a run is shown and where its text goes."""

    output: Path | None = None
    as_json: bool = False
    progress: str | None = None
    """`live`, `lines` or `none`; None is live on a terminal."""
    report: Path | None = None
    """The folder for a report on programs."""
    html: Path | None = None
    """The file for a report as a page."""
    strict: bool = False
    """A text that breaks its contract is a failure."""

    @property
    def quiet(self) -> bool:
        """Whether nothing is shown meanwhile, and no summary at the end."""
        return self.progress == "none"

    @classmethod
    def of(cls, values: dict[str, Any]) -> OutputOptions:
        """As the options of a command say."""
        return cls(
            values.get("output"),
            values["as_json"],
            values["progress"],
            values.get("report"),
            values.get("html"),
            values.get("fail_on_contract", False),
        )


def check_artifact_folder(task: Task, folder: Path | None) -> None:
    """Refuse a folder to which research could not write its files."""
    from autoreason.artifacts.research_task import research_of
    from autoreason.files import check_folder

    if folder and (research := research_of(task)):
        check_folder(folder, research.files)


def record_folder(prepared: PreparedRun[Any], folder: Path | None) -> PreparedRun[Any]:
    """Research with the folder for its files on record, so that `resume` writes there, too."""
    check_artifact_folder(prepared.task, folder)
    settings = prepared.settings
    job = replace(settings.job_as(Research), output=str(folder.resolve()) if folder else "")
    return replace(prepared, settings=replace(settings, job=job))
