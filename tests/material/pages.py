"""A page as a browser reads it, and a small result to show."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import dxopt as dx

EVIL = "<script>alert('&\"')</script>"
VOID = {"meta", "link", "input", "br"}


class Parsed(HTMLParser):
    """Elements with attributes, their text, and whether all of them were closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(self.texts["main"][0].split())

    @property
    def channels(self) -> dict[str, Any]:
        (index,) = (k for k, a in enumerate(self.all("script")) if a.get("id") == "channels")
        return json.loads(self.texts["script"][index])


@cache
def grid(epsilon: float = 1.0, name: str = "grid") -> dx.Report:
    points = [[i, j] for i in range(3) for j in range(2)]
    space = dx.MetricSpace.from_points(points, "manhattan", labels=[EVIL, *"bcdef"])
    prior = dx.Prior.from_weights(space, [1, 2, 3, 4, 5, 6])
    problem = dx.Problem(space, epsilon=epsilon, prior=prior, name=name)
    report = dx.solve(problem)
    compared = dx.compare(problem, ["exponential"], priors={EVIL: dx.Prior.uniform(space)}, reference=report)
    worst = dx.evaluate.worst_loss(report.mechanism, problem.loss)
    return replace(report, comparison=compared, evaluation={"worst_loss": worst})
