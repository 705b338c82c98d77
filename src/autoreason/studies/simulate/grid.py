"""The protocols that a search tries: every bench with every ending."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from autoreason.settings import Settings
from autoreason.studies.simulate.protocols import named_protocol


class PanelSetup(NamedTuple):
    """How the panel of a pass is run."""

    judges: int
    extra_judges: int = 0
    max_judges: int = 9
    close_margin: int = 2
    required_lead: int = 1
    paper: bool = False
    """As published, random orders and all."""


class Ending(NamedTuple):
    """When a run stops, and what its playoff is like."""

    k: int
    passes: int
    playoff: int
    playoff_texts: int


class Candidate(NamedTuple):
    """A whole protocol."""

    bench: PanelSetup
    ending: Ending

    @property
    def name(self) -> str:
        """As tables show it: judges, then the ending."""
        bench, ending = self
        panel = f"{bench.judges}"
        if bench.extra_judges:
            panel += f"+{bench.extra_judges} to {bench.max_judges} within {bench.close_margin}"
        panel += f" lead {bench.required_lead}" if bench.required_lead > 1 else ""
        playoff = f"{ending.playoff} over {ending.playoff_texts}" if ending.playoff else "none"
        kind = "paper: " if bench.paper else ""
        return f"{kind}{panel}, k {ending.k}, cap {ending.passes}, playoff {playoff}"

    def settings(self) -> Settings:
        """As settings of a run."""
        bench, ending = self
        panel: dict[str, Any] = {"judges": bench.judges}
        if not bench.paper:
            panel |= {
                name: getattr(bench, name)
                for name in ("extra_judges", "max_judges", "close_margin", "required_lead")
            }
        # A confirmation changes nothing that is delivered.
        panel |= {"confirmation": 0} | ending._asdict()
        return named_protocol("paper" if bench.paper else "robust", panel).settings


class Grid(NamedTuple):
    """What is tried: every bench with every ending."""

    benches: Sequence[PanelSetup]
    k: Sequence[int]
    passes: Sequence[int]
    playoff: Sequence[int]
    playoff_texts: Sequence[int]

    def endings(self) -> list[Ending]:
        """Every ending; without a playoff its number of texts makes no difference."""
        endings = map(Ending._make, product(self.k, self.passes, self.playoff, self.playoff_texts))
        least = min(self.playoff_texts)
        return [each for each in endings if each.playoff or each.playoff_texts == least]


PAPER = Candidate(PanelSetup(3, paper=True), Ending(2, 15, 0, 3))
GRID = Grid(
    benches=(
        PAPER.bench,
        # Fewer than three judges cannot see every text in every position.
        *(PanelSetup(judges) for judges in (3, 5, 7)),
        *(
            PanelSetup(judges, extra, max_judges, close)
            for judges, extra in ((3, 2), (3, 3), (5, 2))
            for max_judges, close in product((6, 9, 12), (1, 2, 3))
        ),
        *(PanelSetup(3, 3, 6, 2, lead) for lead in (2, 3, 4)),
    ),
    k=(1, 2, 3, 4, 5),
    passes=(10, 15, 20),
    playoff=(0, 5, 7, 9, 12),
    # A ballot over more than five texts is too large for a schema that requires full rankings.
    playoff_texts=(3, 5),
)


def default_candidate() -> Candidate:
    """The protocol as runs have it without any option."""
    settings = named_protocol("robust").settings
    bench = {name: getattr(settings, name) for name in PanelSetup._fields[:5]}
    return Candidate(
        PanelSetup(**bench), Ending(*(getattr(settings, name) for name in Ending._fields))
    )
