"""What can be known to be wrong before a run begins, so that nothing is written and nothing is paid."""

from __future__ import annotations

from autoreason.errors import InvalidInput
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates, window
from autoreason.prompts import PromptSet
from autoreason.run.estimate import first_request
from autoreason.settings import Settings
from autoreason.task import Task

_BYTES_A_TOKEN = 4


async def check(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Raise `InvalidInput` for whatever would only fail later; spends nothing."""
    require_prices(settings.budget, {address: rates(address) for address in settings.models.all()})
    for address in settings.models.all():
        pool.lend(address)
        _check_window(task, settings, prompts, address)
    for address in settings.models.all():
        checked = await pool.check(address)
        if (
            checked.reachable is False
            or checked.key_accepted is False
            or checked.model_known is False
        ):
            raise InvalidInput(checked.problem)


def _check_window(task: Task, settings: Settings, prompts: PromptSet, address: str) -> None:
    room = window(address)
    if room is None:
        return
    request = first_request(task, settings, prompts)
    said = sum(len(message.text.encode()) for message in request.messages) // _BYTES_A_TOKEN
    draft = len(task.draft.encode()) // _BYTES_A_TOKEN if task.draft else 0
    # A synthesizer reads the text twice over and writes it once more.
    needed = max(said, said + draft) + draft
    if needed > room:
        what = "draft" if task.draft else "brief"
        raise InvalidInput(
            f"the {what} needs about {needed:,} tokens and {address} has room for {room:,}; "
            "shorten it or choose a model with a larger window"
        )
