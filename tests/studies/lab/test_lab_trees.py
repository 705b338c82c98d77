"""Trajectory trees: repeats share their way until another candidate wins."""

from __future__ import annotations

from tests.studies.lab.cells import a_cell, a_suite

from autoreason.studies.lab_trees import TrajectoryTree, draw_tree, trajectory_trees

CELLS = [
    a_cell("contest", "B AB A A", 1, words_by_pass=(100, 120, 140, 140, 140)),
    a_cell("contest", "B AB B", 2, status="capped", words_by_pass=(100, 130, 150, 160)),
    a_cell("contest", "A A", 3),
    a_cell("contest", "A A", 1, task="short"),
    a_cell("revised", "B B", 1),
]


def trees() -> list[TrajectoryTree]:
    return list(trajectory_trees(a_suite(), CELLS))


def test_repeats_share_nodes_until_their_winners_differ() -> None:
    assert [(each.task, each.arm) for each in trees()] == [
        ("free", "contest"),
        ("short", "contest"),
    ]
    nodes = {" ".join(node.way): node for node in trees()[0].nodes}
    assert list(nodes) == ["", "A", "A A", "B", "B AB", "B AB A", "B AB A A", "B AB B"]
    assert nodes[""].repeats == (1, 2, 3)
    assert nodes["B AB"].repeats == (1, 2)
    assert (nodes["B AB"].drift, nodes["B AB"].words) == (1.5, 145.0)
    assert nodes["B AB"].beaten == ("A", "B")
    assert (nodes["B AB B"].drift, nodes["B AB A A"].drift, nodes["A A"].drift) == (2.5, 1.5, 0)


def test_ends_are_known() -> None:
    tree = trees()[0]
    ends = {" ".join(node.way): (node.ended, node.converged) for node in tree.ways}
    assert ends == {"A A": ((3,), (3,)), "B AB A A": ((1,), (1,)), "B AB B": ((2,), ())}
    assert list(ends) == ["A A", "B AB A A", "B AB B"]


def test_a_chart_has_a_line_for_each_way_and_words_for_each_pass() -> None:
    plot = draw_tree(trees()[0])
    assert plot.title == "Trajectories of contest on free"
    assert plot.svg.count('class="line"') == 3
    assert plot.svg.count("★") == 2
    assert "pass 2: AB; repeats 1, 2; 145 words" in plot.svg
