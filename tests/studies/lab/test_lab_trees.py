"""Trajectory trees: repeats share their way until another candidate wins."""

from __future__ import annotations

from itertools import pairwise, product
from xml.etree import ElementTree

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


def test_every_node_is_a_dot_and_no_two_lie_on_each_other() -> None:
    plot = draw_tree(trees()[0])
    assert plot.title == "Trajectories of contest on free"
    dots = [line for line in plot.svg.splitlines() if "<circle" in line and "words</title>" in line]
    places = {line.split('r="')[0] for line in dots}
    assert len(places) == len(dots) == 8
    assert plot.svg.count("★") == 2
    assert "pass 2: AB; repeats 1, 2; 145 words" in plot.svg
    (many,) = trajectory_trees(a_suite(), [a_cell("contest", "B2 ? " + "AB " * 60)])
    assert "pass 1: B2" in draw_tree(many).svg
    assert "B2, a revision" in draw_tree(many).svg


def test_no_circle_lies_on_a_label_or_on_the_axis() -> None:
    ways = [" ".join((*way, "A", "A")) for way in product(("A", "B", "AB"), repeat=3)]
    cells = [a_cell("contest", way, n) for n, way in enumerate(ways, 1)]
    (tree,) = trajectory_trees(a_suite(), cells)
    root = ElementTree.fromstring(draw_tree(tree).svg)
    name = "{http://www.w3.org/2000/svg}"
    inner = root.find(f"{name}g")
    assert inner is not None
    circles = [
        (float(each.attrib["cx"]), float(each.attrib["cy"])) for each in inner.iter(f"{name}circle")
    ]
    labels = [each for each in inner.iter(f"{name}text") if each.get("class") != "mark"]
    assert len(labels) == len(tree.ways)
    assert max(x for x, _ in circles) + 10 < min(float(each.attrib["x"]) for each in labels)
    heights = sorted(float(each.attrib["y"]) for each in labels)
    assert all(below - above > 11 for above, below in pairwise(heights))
    down = float(inner.attrib["transform"].split()[1].rstrip(")"))
    axis = min(float(each.attrib["y"]) for each in root.findall(f"{name}text") if each.text == "0")
    assert max(y for _, y in circles) + down + 7 < axis - 11
