"""A proposer without a model: the proposals of a demonstration, one after another.

autoreason research examples/research/circles/task.md -m examples/research/scripted.py:Proposer/circles
"""

from pathlib import Path

from autoreason.testing import ScriptedModel

_NEXT = "\n* * *\n"
_PASSAGE, _END = "<<<<<<< SEARCH\n", "\n=======\n"


class Proposer(ScriptedModel):
    """Proposes what is in `proposals.md` of the folder that its address ends with."""

    def __init__(self, address):
        super().__init__(self._answer, address=address)
        path = Path(__file__).parent / address.rpartition("/")[2] / "proposals.md"
        self._proposals = path.read_text("utf-8").split(_NEXT)

    def _answer(self, request):
        """The next proposal that is new and applies to what is shown; the first of them again after the last."""
        first = int(request.key.split("/")[1]) - 1
        in_turn = self._proposals[first % len(self._proposals) :] + self._proposals
        shown = "\n".join(message.text for message in request.messages)
        return next((each for each in in_turn if _fits(each, shown)), in_turn[0])


def _fits(proposal, shown):
    """Whether every passage to be replaced is shown, and no trial with this idea."""
    idea = proposal.splitlines()[0].partition(": ")[2]
    passages = [part.partition(_END)[0] for part in proposal.split(_PASSAGE)[1:]]
    return idea not in shown and all(passage in shown for passage in passages)
