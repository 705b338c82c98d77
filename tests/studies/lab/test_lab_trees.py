"""Trajectory trees: repeats share their way until another candidate wins."""

from __future__ import annotations

from tests.studies.lab.cells import a_cell, a_suite

from autoreason.studies.lab.lab_plots import draw_tree
from autoreason.studies.lab.lab_trees import TrajectoryTree, trajectory_trees

CELLS = [
    a_cell("contest", "B AB A A", 1, words_by_pass=(100, 120, 140, 140, 140)),
    a_cell("contest", "B AB B", 2, status="capped", words_by_pass=(100, 130, 150, 160)),
    a_cell("contest", "A A", 3),
    a_cell("contest", "A A", 1, task="short"),
    a_cell("revised", "B B", 1),
]


def trees() -> list[TrajectoryTree]:
    return list(trajectory_trees(a_suite(), CELLS))


def test_there_is_one_for_each_task_and_tournament() -> None:
    assert [(tree.task, tree.arm) for tree in trees()] == [
        ("free", "contest"),
        ("short", "contest"),
    ]


def test_repeats_share_nodes_until_their_winners_differ() -> None:
    nodes = {" ".join(node.way): node for node in trees()[0].nodes}
    assert list(nodes) == ["", "A", "A A", "B", "B AB", "B AB A", "B AB A A", "B AB B"]
    assert nodes[""].repeats == (1, 2, 3)
    assert nodes["B AB"].repeats == (1, 2)
    assert (nodes["B AB"].drift, nodes["B AB"].words) == (1.5, 145.0)
    assert nodes["B AB"].beaten == ("A", "B")
    assert (nodes["B AB B"].drift, nodes["B AB A A"].drift, nodes["A A"].drift) == (2.5, 1.5, 0)


def test_ends_and_partings_are_known() -> None:
    tree = trees()[0]
    ends = {" ".join(node.way): (node.ended, node.converged) for node in tree.ways}
    assert ends == {"A A": ((3,), (3,)), "B AB A A": ((1,), (1,)), "B AB B": ((2,), ())}
    assert list(ends) == ["A A", "B AB A A", "B AB B"]
    assert tree.partings() == [1, 3, 3]
    assert trees()[1].partings() == [None]


def test_a_way_that_another_goes_on_from_never_parts() -> None:
    cells = [a_cell("contest", "A A", 1), a_cell("contest", "A A B A", 2)]
    (tree,) = trajectory_trees(a_suite(), cells)
    assert tree.partings() == [None, 3]


def test_every_node_is_a_dot_and_no_two_lie_on_each_other() -> None:
    plot = draw_tree(trees()[0])
    assert plot.title == "Trajectories of contest on free"
    dots = [line for line in plot.svg.splitlines() if "<circle" in line and "words</title>" in line]
    places = {line.split('r="')[0] for line in dots}
    assert len(places) == len(dots) == 8
    assert plot.svg.count("★") == 2
    assert "pass 2: AB; repeats 1, 2; 145 words" in plot.svg


def test_a_tournament_with_several_rivals_and_many_passes_can_be_drawn() -> None:
    cell = a_cell("contest", "B2 ? " + "AB " * 60)
    (tree,) = trajectory_trees(a_suite(), [cell])
    assert "B2, a revision" in draw_tree(tree).svg
