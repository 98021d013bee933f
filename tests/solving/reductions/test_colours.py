"""Colours are carried along by permutations, and split what descriptions tell apart."""

from __future__ import annotations

import networkx as nx
import numpy as np

import dxopt as dx
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.automorphisms import Refinement, classes_of_values, match_colours, split_colours


def refinement(program: ChannelProgram) -> Refinement:
    return Refinement(program, np.random.default_rng(0), lambda entries: None)


def test_colours_do_not_depend_on_the_order() -> None:
    distances = dx.MetricSpace.from_graph(nx.balanced_tree(2, 3)).distances
    order = np.random.default_rng(2).permutation(len(distances))
    mixed = distances[np.ix_(order, order)]
    one = refinement(ChannelProgram(distances, distances)).unit()
    other = refinement(ChannelProgram(mixed, mixed)).unit()
    assert one.rows.max() + 1 == 4
    assert np.array_equal(other.rows, one.rows[order])
    assert np.array_equal(other.reports, one.reports[order])
    assert one.like(other)


def test_one_point_of_its_own_splits_the_others_by_distance() -> None:
    distances = dx.MetricSpace.from_graph(nx.cycle_graph(6)).distances
    refined = refinement(ChannelProgram(distances, distances))
    assert not refined.unit().rows.any()
    alone = refined.individualised(refined.unit(), 2)
    assert sorted(map(tuple, (alone.cell(colour) for colour in range(4)))) == [(0, 4), (1, 3), (2,), (5,)]
    assert alone.like(refined.individualised(refined.unit(), 5))


def test_sums_are_split_matched_and_told_apart_up_to_rounding() -> None:
    assert np.array_equal(split_colours(np.array([1, 0, 1, 0]), np.array([5.0, 2.0, 4.0, 2.0 + 1e-15])), [2, 0, 1, 0])
    classes, between = classes_of_values(np.array([3.0, 1.0, 3.0 + 1e-13, 2.0]))
    assert np.array_equal(classes, [2, 0, 2, 1])
    assert np.allclose(between, [1.5, 2.5])
    image = match_colours(np.array([0, 1, 1, 2]), np.array([0, 2, 1, 1]))
    assert np.array_equal(image, [0, 3, 2, 1])
