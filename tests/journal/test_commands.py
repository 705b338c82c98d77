"""What a person types in another terminal is heard exactly once."""

from __future__ import annotations

import pytest
from tests.journal.samples import RUN, a_process, create_run, kill

from autoreason.errors import ReplayMismatch, UnknownRun
from autoreason.exchange import GuidanceQuery
from autoreason.journal import Journal
from autoreason.journal.codec import write_text


def test_a_command_waits_until_it_is_taken(journal: Journal) -> None:
    with Journal.open(journal.place, create=False) as elsewhere:
        elsewhere.command(RUN, "guide", "Shorter.")
        elsewhere.command(RUN, "stop")
    waiting = journal.pending_commands(RUN)
    assert [(one.kind, one.text) for one in waiting] == [("guide", "Shorter."), ("stop", "")]
    assert [one.kind for one in journal.pending_commands(RUN, ["stop"])] == ["stop"]
    taken = journal.take_command(RUN, by="pass/3/critic/0")
    assert taken
    assert taken.kind == "stop"
    ((by,),) = journal._read("SELECT taken_by FROM commands WHERE kind = 'stop'")
    assert by == "pass/3/critic/0"
    assert journal.take_command(RUN) is None
    assert [one.kind for one in journal.pending_commands(RUN)] == ["guide"]
    for kind in ("stop", "accept"):
        journal.command(RUN, kind)
    last = journal.take_command(RUN, ("stop", "accept"))
    assert last
    assert last.kind == "accept"
    assert [one.kind for one in journal.pending_commands(RUN)] == ["guide"]


def test_a_command_is_for_one_run(journal: Journal) -> None:
    create_run(journal, "other", "Another")
    journal.command("other", "stop")
    assert journal.take_command(RUN) is None
    with pytest.raises(UnknownRun):
        journal.command("nobody", "stop")


async def test_guidance_is_taken_once_and_recorded(journal: Journal) -> None:
    journal.command(RUN, "guide", "Shorter.")
    journal.command(RUN, "guide", "And warmer.")
    text = await journal.record_guidance(RUN, GuidanceQuery(key="pass/1/guidance"))
    assert text == "Shorter.\n\nAnd warmer."
    assert journal.answers(RUN)["pass/1/guidance"].answer == text
    assert journal.pending_commands(RUN) == []
    assert await journal.record_guidance(RUN, GuidanceQuery(key="pass/2/guidance")) == ""
    assert journal.spent(RUN).calls == 0


async def test_guidance_that_could_not_be_recorded_is_not_lost(journal: Journal) -> None:
    query = GuidanceQuery(key="pass/1/guidance")
    await journal.record_answer(RUN, query, "Said before.")
    journal.command(RUN, "guide", "Shorter.")
    with pytest.raises(ReplayMismatch):
        await journal.record_guidance(RUN, query)
    assert [one.text for one in journal.pending_commands(RUN)] == ["Shorter."]


def test_a_kill_neither_loses_nor_repeats_guidance(journal: Journal) -> None:
    code = """
    import asyncio
    from autoreason.exchange import GuidanceQuery
    journal = Journal.open(sys.argv[1], create=False)
    async def main():
        for number in range(100_000):
            journal.command(sys.argv[2], "guide", f"<{number}>")
            print(number, flush=True)
            query = GuidanceQuery(key=f"pass/{number}/guidance")
            await journal.record_guidance(sys.argv[2], query)
    asyncio.run(main())
    """
    lines = kill(a_process(code, journal.place, RUN), 20)
    heard = "".join(recorded.answer for recorded in journal.answers(RUN).values())
    waiting = "".join(command.text for command in journal.pending_commands(RUN))
    for line in lines:
        assert (heard + waiting).count(f"<{line}>") == 1


def test_the_one_character_that_a_server_cannot_store_is_left_out() -> None:
    assert write_text("\x00a\x01\x02é") == "a\x01\x02é"
