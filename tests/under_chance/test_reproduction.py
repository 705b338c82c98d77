"""A true paper, and parts of its data drawn at random: hardly a part says that a claim differs."""

from __future__ import annotations

from math import comb
from random import Random

from paper.figures import share_of_whole
from paper.recording import Recording
from paper.reproduce import Claim, judge_claim, read_claims
from tests.cases import cases
from tests.paper.example_recordings import random_part, random_recording
from tests.under_chance.luck import misses, most_often

PARTS = 20
ALL = ("wins of A with", "panels over the pitch", "panels whose judges")
"""Claims that all cases are so: true only where the figure is 100."""


def true_claims(whole: Recording) -> list[Claim]:
    """The claims with the figures that the data give."""
    claims = []
    for claim in read_claims():
        found = claim.find(whole).values
        figures = {
            name: f"{found[name].value:.{len(paper.partition('.')[2])}f}"
            for name, paper in claim.figures.items()
            if paper and name in found and found[name].value is not None
        }
        if figures and not claim.about.startswith(ALL):
            claims.append(claim._replace(figures=figures))
    return claims


def test_a_part_of_the_data_seldom_contradicts_a_true_paper() -> None:
    wrong = 0
    for seed in range(PARTS):
        rng = Random(seed)
        whole = random_recording(rng)
        claims = true_claims(whole)
        assert len(claims) > 100
        assert [claim for claim in claims if judge_claim(claim, whole).verdict != "agrees"] == []
        part = random_part(rng, whole, 0.7)
        verdicts = [judge_claim(claim, part).verdict for claim in claims]
        assert verdicts.count("consistent") > 30
        wrong += "differs" in verdicts
    assert wrong <= most_often(PARTS)


@cases(("drawn", "total"), [(1, 5), (7, 10), (35, 50), (106, 150)])
@cases("level", [0.95, 0.999])
def test_the_interval_of_a_part_holds_the_share_of_the_whole(
    drawn: int, total: int, level: float
) -> None:
    for truth in range(0, total + 1, max(1, total // 25)):
        possible = range(max(0, drawn - (total - truth)), min(drawn, truth) + 1)
        wrong = sum(
            comb(truth, hits) * comb(total - truth, drawn - hits)
            for hits in possible
            if misses(share_of_whole(hits, drawn, total, level), truth / total)
        )
        assert wrong / comb(total, drawn) <= 1 - level + 1e-12
