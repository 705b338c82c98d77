"""What the commands that judge texts have in common: their settings, and how they are begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from autoreason.cli import arguments
from autoreason.settings import DEFAULT_MODEL, Models, Settings, make_settings

if TYPE_CHECKING:
    from autoreason.task import Entry, Task

_JUDGES = 7


def begin(
    task: Task,
    entries: tuple[Entry, ...],
    strategy: str,
    own: dict[str, Any],
    values: dict[str, Any],
    **changes: Any,
) -> int:
    """Check that the table can be made, then hold the run."""
    from autoreason.cli.commands.run import begin as hold
    from autoreason.run.prompt_choice import choose_prompts
    from autoreason.studies.panels.panel_report import require_statistics

    require_statistics()
    settings = settings_of(strategy, own, values, **changes)
    prompts = choose_prompts(settings, values["prompts"])
    task = replace(task, entries=entries)
    if values["dry_run"]:
        from autoreason.cli.views.dry_run import dry_run

        return dry_run(task, settings, prompts, as_json=values["as_json"])
    return hold(task, settings, prompts, values)


def settings_of(
    strategy: str, own: dict[str, Any], values: dict[str, Any], **changes: Any
) -> Settings:
    """Settings of a run in which only judges are asked."""
    address = values["model"] or DEFAULT_MODEL
    judges = tuple(values["judge_models"]) or (address,)
    return make_settings(
        Models.judging(*judges),
        arguments.seed_of(values),
        strategy=strategy,
        strategy_options=own,
        judges=_JUDGES if values["judges"] is None else values["judges"],
        style=values.get("style"),
        judge_temperature=values["judge_temperature"],
        judge_effort=values["effort"],
        max_tokens=values["max_tokens"],
        base_url=values["base_url"],
        allow_http=values["allow_http"],
        budget=arguments.budget_in(values),
        **changes,
    )
