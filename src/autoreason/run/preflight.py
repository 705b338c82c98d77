"""What can be known to be wrong before a run begins, so that nothing is written and nothing is paid."""

from __future__ import annotations

from autoreason.errors import InvalidInput
from autoreason.models.budget import require_prices
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.prompts import PromptSet
from autoreason.run.estimate import first_request
from autoreason.settings import Settings
from autoreason.task import Task

_BYTES_A_TOKEN = 4


async def check(task: Task, settings: Settings, pool: ModelPool, prompts: PromptSet) -> None:
    """Raise `InvalidInput` for whatever would only fail later; spends nothing."""
    require_prices(settings.budget, {address: rates(address) for address in settings.models.all()})
    for address in settings.models.all():
        checked = await pool.check(address)
        if checked.reachable is False:
            raise InvalidInput(f"{checked.problem}; see that it is up and the address is right")
        if checked.key_accepted is False or checked.model_known is False:
            raise InvalidInput(checked.problem)
        _check_window(task, settings, prompts, address, pool.window(address))


def _check_window(
    task: Task, settings: Settings, prompts: PromptSet, address: str, room: int | None
) -> None:
    if room is None:
        return
    request = first_request(task, settings, prompts)
    said = sum(len(message.text.encode()) for message in request.messages) // _BYTES_A_TOKEN
    draft = len(task.draft.encode()) // _BYTES_A_TOKEN if task.draft else 0
    # The first request holds a given draft once; a synthesizer reads two texts and writes a third.
    needed = said + 2 * draft
    if needed > room:
        what = "draft" if task.draft else "brief"
        raise InvalidInput(
            f"the {what} needs about {needed:,} tokens and {address} has room for {room:,}; "
            "shorten it or choose a model with a larger window"
        )
