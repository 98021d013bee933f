"""Ctrl-C while an answer is looked at for warnings: the answer is there, and is kept."""

from __future__ import annotations

import pytest

import dxopt as dx
from dxopt.results.announcing import announcing


class Answer:
    @property
    def warnings(self) -> tuple[dx.PlausibilityWarning, ...]:
        raise KeyboardInterrupt


@announcing()
def answered(problem: dx.Problem, *, partial: bool = False) -> Answer:
    return ANSWER


ANSWER = Answer()


def test_an_answer_that_is_there_is_kept() -> None:
    problem = dx.Problem(dx.line(5), epsilon=1.0, prior="uniform")
    assert answered(problem, partial=True) is ANSWER
    with pytest.raises(dx.Interrupted) as raised:
        answered(problem)
    assert raised.value.answer is ANSWER
