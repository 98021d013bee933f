"""Drawing and showing reports: what `Mechanism`, of doubles, and tables, of integers, have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required, required_choice
from dxopt.model.loss import Reports
from dxopt.model.privacy import privacy_text
from dxopt.numerics.draws import draws
from dxopt.runtime.display import Lines, Shown, as_html, as_html_table
from dxopt.spaces.space import MetricSpace

Indices = NDArray[np.int64]
Returns = Literal["index", "label", "point"]
_CORNER = 8
"""A notebook shows the probabilities of so many reports for so many secrets."""
_QUICK_REPORTS = 2_000
"""Of mechanisms with more reports a notebook shows no probabilities, as whole rows would have to be computed."""


class Sampler(Shown, ABC):
    """A distribution over m reports for each of n secrets, from which reports are drawn."""

    space: MetricSpace
    reports: Reports
    name: str

    def sample(
        self,
        secret: Any = None,
        size: int = 1,
        rng: np.random.Generator | None = None,
        *,
        label: Any = None,
        index: Any = None,
        point: Any = None,
        returns: Returns = "index",
    ) -> NDArray[Any]:
        """Draw reports.

        Parameters
        ----------
        secret : label, or a sequence of k of them
            One secret, or several as a list, an array or a pandas Series.
        size : int
            Draws for each secret.
        rng : numpy Generator, optional
            For repeatable experiments only: whoever knows its state knows the reports, so nothing is private of
            what it draws. Without it the randomness is the operating system's.
        label, index, point
            The secret, or several, by labels as they were given, by indices, or by coordinates.
        returns : {"index", "label", "point"}
            What is returned of each report.

        Returns
        -------
        (size,) array for one secret, (k, size) array for several; with one axis more for coordinates.

        Raises
        ------
        SpecError
            If there is no such secret, the size is negative, or the reports have no coordinates.

        Examples
        --------
        >>> import dxopt as dx
        >>> import numpy as np
        >>> mechanism = dx.classic.geometric(dx.line(4, step=5), epsilon=0.5)
        >>> rng = np.random.default_rng(4)  # leave it out for reports that are published
        >>> print(mechanism.sample(label="10", size=6, rng=rng, returns="label").tolist())
        ['15', '10', '15', '10', '10', '10']
        """
        self._check_returns(returns)
        secrets = self.space.naming.find(secret, label=label, index=index, point=point, quoted=False)
        return self._named(draws(secrets, size, lambda some: self._draw(some, rng)), returns)

    def _check_returns(self, returns: Returns) -> None:
        """Raise SpecError unless reports can be returned in that way; before any is drawn."""
        required_choice("returns", returns, ("index", "label", "point"))
        if returns == "point" and self.reports.points is None:
            raise SpecError("returns", "the reports have no coordinates", 'give "label" or "index"')

    def _named(self, drawn: Indices, returns: Returns) -> NDArray[Any]:
        """Turn indices of reports into what `returns` asks for: their labels, coordinates, or the indices."""
        match returns:
            case "label":
                # some spaces only write a label when it is asked for: each drawn report is asked for once
                distinct, which = np.unique(drawn, return_inverse=True)
                names = np.array([self.reports.labels[index] for index in distinct.tolist()], dtype=str)
                return names[which.reshape(drawn.shape)]
            case "point":
                return np.asarray(self.reports.points)[drawn]
        return drawn

    @abstractmethod
    def _promise(self) -> tuple[float, float] | None:
        """Return the ε and δ that are proven; None where nothing is."""

    @abstractmethod
    def _corner(self, secrets: int, reports: int) -> NDArray[np.float64]:
        """Return the probabilities of the first reports for the first secrets, to show them in a notebook."""

    def _summary(self) -> str:
        size = f"{len(self.space):,} secrets, {len(self.reports):,} reports"
        return f"{self.name}: {size}, {self._privacy()}"

    def _privacy(self) -> str:
        promise = self._promise()
        return "no privacy proven" if promise is None else privacy_text(*promise, self.space.unit)

    def _lines(self) -> Lines:
        return [
            ("mechanism", self.name),
            ("secrets", f"{len(self.space):,}"),
            ("reports", f"{len(self.reports):,}"),
            ("privacy", self._privacy()),
        ]

    def _repr_html_(self) -> str:
        lines = as_html(self._lines())
        if len(self.reports) > _QUICK_REPORTS:
            return lines
        rows, columns = min(_CORNER, len(self.space)), min(_CORNER, len(self.reports))
        head = ["probability of a report", *map(_short, self.reports.labels[:columns])]
        names = map(_short, self.space.labels[:rows])
        found = self._corner(rows, columns)
        body = [[name, *(f"{one:.3g}" for one in row)] for name, row in zip(names, found.tolist(), strict=True)]
        if columns < len(self.reports):
            head, body = [*head, "…"], [[*row, ""] for row in body]
        if rows < len(self.space):
            body.append(["…"] * len(head))
        return lines + as_html_table([head, *body])

    @abstractmethod
    def _draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        """Return one report for each of the secrets `(k,)`, given by index."""


def _short(label: str) -> str:
    """Return a label with long decimals cut to five digits, for a narrow column."""
    return re.sub(r"-?\d+\.\d{4,}", lambda found: f"{float(found[0]):.5g}", label)


def required_mechanism(mechanism: Any, kinds: Any = Sampler) -> None:
    """Raise SpecError unless a mechanism or a table is given; the error says how to make one of a matrix."""
    proven, unproven = "dx.certify(matrix, space, epsilon)", "dx.Mechanism.from_matrix(space, matrix)"
    fix = f"give a mechanism: {proven} makes one with a proof of privacy, {unproven} without"
    required("mechanism", mechanism, kinds, fix)
