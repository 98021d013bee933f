"""Mechanisms for databases that perturb each record on its own (HLM14 §4, §5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.evaluate import expected_loss
from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import CHANNEL_CELLS, Mechanism, Privacy
from dxopt.model.prior import PriorLike
from dxopt.model.privacy import checked_delta
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import checked_count
from dxopt.numerics.hockey_stick import bound_pairs, least_epsilon
from dxopt.spaces.labels import Tuples
from dxopt.spaces.universes import Universe, required_universe

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Database = Sequence[Any] | NDArray


@dataclass(frozen=True, eq=False, repr=False)
class ProductSanitisation:
    """A mechanism for databases of n records that perturbs each on its own (HLM14 eq 7). Never written down.

    Make it with `product_sanitisation`. Databases, sanitised or not, are sequences of n indices or of n labels.

    Attributes
    ----------
    factor : Mechanism
        From values of a record to what is reported of it.
    records : int
        n.
    privacy : Privacy
        Two databases that differ in one record, v in one and v' in the other, are (ε·d(v, v'), δ)-indistinguishable,
        where d is the distance of the space of the factor: (ε, δ) under the discrete metric.

    Examples
    --------
    >>> import dxopt as dx
    >>> record = dx.classic.randomised_response(dx.MetricSpace.from_points(["no", "yes"], "discrete"), epsilon=1.0)
    >>> survey = dx.sanitisation.product_sanitisation(record, 1000)
    >>> print(survey.records, round(survey.privacy.epsilon, 3))
    1000 1.0
    """

    factor: Mechanism
    records: int
    privacy: Privacy

    def __repr__(self) -> str:
        return f"<ProductSanitisation of {self.records:,} records by {self.factor!r}>"

    @property
    def one_record(self) -> float:
        """The ε of HLM14: that of any change of one record, the largest ε·d(v, v'); infinite where a distance is."""
        return self.privacy.epsilon * float(self.factor.space.distances.max())

    def sample(self, database: Database, size: int = 1, rng: np.random.Generator | None = None) -> Indices:
        """Draw sanitised databases: indices of reports, `(size, n)`.

        Raises
        ------
        SpecError
            If there are not n records, one has no such value, or the size is negative.
        """
        return self.factor.sample(size=size, rng=rng, index=self._values(database)).T

    def answer(
        self,
        function: Callable[[Indices], Any],
        database: Database,
        size: int = 1,
        rng: np.random.Generator | None = None,
    ) -> list[Any]:
        """Return answers to a query, each of a new sanitised database.

        Each has the privacy of the sanitisation, whatever is asked (HLM14 Thm 4). All that is computed from one
        sanitised database of `sample` has it together; what is computed from several adds up.

        Parameters
        ----------
        function : callable
            Of a sanitised database, given as indices of reports `(n,)`.
        database, size, rng
            As for `sample`.
        """
        required("function", function, Callable, "give a function of a sanitised database")
        return [function(sanitised) for sanitised in self.sample(database, size, rng)]

    def log_probability(self, database: Database, sanitised: Database) -> float:
        """Return ln Π_i K[d_i, z_i]: minus infinity where that is 0."""
        distinct, row = np.unique(self._values(database), return_inverse=True)
        reports = _indices(sanitised, self.factor.reports.labels, self.records, "sanitised")
        with np.errstate(divide="ignore"):
            return math.fsum(np.log(self.factor.rows(distinct)[row, reports]))

    def probability(self, database: Database, sanitised: Database) -> float:
        """Return Π_i K[d_i, z_i]: how likely a database is to become another; 0 where that is below 1e-308."""
        return math.exp(self.log_probability(database, sanitised))

    def record_error(self, prior: PriorLike, loss: LossLike | Loss = "distance") -> float:
        """Return the expected loss of a record whose values have this prior."""
        return expected_loss(self.factor, prior, loss)

    def expected_error(self, prior: PriorLike, loss: LossLike | Loss = "distance") -> float:
        """Return the expected loss of a database, summed over n records with this prior, dependent or not."""
        return self.records * self.record_error(prior, loss)

    def as_mechanism(self, universe: Universe) -> Mechanism:
        """Return all probabilities, over databases at the distance of the number of records that differ.

        Its ε is that of the change of one record, proven anew on the matrix for all databases that differ in one.

        Parameters
        ----------
        universe : Universe
            `Universe.databases` of all n records, its values those of the factor, in the same order.

        Raises
        ------
        SpecError
            If the universe is another, or no ε bounds a change of one record.
        UnsupportedError
            If there are more than 200 million probabilities.
        """
        required_universe(universe)
        values = len(self.factor.space)
        labels = tuple(self.factor.space.labels)
        if universe.kind != "databases" or tuple(map(str, universe.values)) != labels:
            raise SpecError("universe", "is not of databases of the values of the factor", "list them in its order")
        if len(universe) != values**self.records or len(universe.secrets[0]) != self.records:  # pyright: ignore
            raise SpecError("universe", f"does not hold all databases of {self.records} records", "make it whole")
        size = len(universe) * len(self.factor.reports) ** self.records
        if size > CHANNEL_CELLS:
            raise UnsupportedError("universe", f"needs {size:,} probabilities", "take fewer records, or sample")
        space = universe.space("hamming")
        # Records are independent: the matrix of all of them is the Kronecker power of that of one.
        matrix: Array = reduce(np.kron, [self.factor.matrix] * self.records)  # pyright: ignore[reportAssignmentType]
        kinds = Tuples((self.factor.reports.labels,) * self.records)
        reports = Reports.of(space) if self.factor.reports.secrets else Reports(kinds)
        privacy = _measured_privacy(matrix, space.distances, self.privacy.delta, space.distances == 1)
        return Mechanism.from_matrix(space, matrix, reports, name=f"{self.factor.name}, by records", privacy=privacy)

    def _values(self, database: Database) -> Indices:
        return _indices(database, self.factor.space.labels, self.records, "database")


def product_sanitisation(factor: Mechanism, records: int, *, delta: float | None = None) -> ProductSanitisation:
    """Perturb n records independently: as private for a change of one of them as the factor (HLM14 Thm 5).

    Parameters
    ----------
    factor : Mechanism
        For one record. Its privacy is measured where it is not proven for this δ and every two values at finite
        distance.
    records : int
        n.
    delta : float, optional
        That of the factor by default, or 0 where nothing was proven of it.

    Raises
    ------
    SpecError
        If n is not 1 or more, δ is not from 0 to below 1, or the factor is not private at any ε.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> record = dx.classic.randomised_response(dx.MetricSpace.from_points(["no", "yes"], "discrete"), epsilon=1.0)
    >>> survey = dx.sanitisation.product_sanitisation(record, 4)
    >>> print(survey.sample(["no", "yes", "yes", "no"], rng=np.random.default_rng(2)))
    [[0 1 1 0]]
    """
    required_mechanism(factor, Mechanism)
    records = checked_count("records", records)
    # The factor's own proof serves if it is for this δ and for all pairs; otherwise ε is measured on its matrix.
    stated = factor.privacy
    relaxed = checked_delta(delta if delta is not None else stated.delta if stated else 0.0)
    proof = stated if stated and (stated.delta, stated.pairs) == (relaxed, "all") else None
    if proof is None:
        distances = factor.space.distances
        proof = _measured_privacy(factor.matrix, distances, relaxed, bound_pairs(distances))
    how = f"records are independent, so that the proof of one holds for any (HLM14 Thm 5): {proof.how}"
    return ProductSanitisation(factor, int(records), Privacy(proof.epsilon, how, relaxed))


def _measured_privacy(channel: Array, distances: Array, delta: float, bound: NDArray[np.bool_]) -> Privacy:
    """Measure the least ε of a channel at δ on the `bound` pairs, with its proof; SpecError where there is none."""
    epsilon = least_epsilon(channel, distances, delta, bound)
    if math.isinf(epsilon):
        raise SpecError("factor", f"is not private at any epsilon with delta {delta:g}", "raise delta")
    pairs = np.count_nonzero(bound)
    return Privacy(epsilon, f"all {pairs:,} ordered pairs checked on their worst set of reports", delta)


def _indices(given: Database, labels: Iterable[str], records: int, field: str) -> Indices:
    """Return indices `(n,)` of the entries of a database, which are indices themselves or labels."""
    try:
        entries = list(given)
    except TypeError:
        raise SpecError(field, "is no sequence of records", "give indices or labels") from None
    if len(entries) != records:
        raise SpecError(field, f"has {len(entries):,} records", f"give {records:,}")
    known = {label: index for index, label in enumerate(labels)}
    if not all(isinstance(entry, int | np.integer) for entry in entries):
        unknown = [entry for entry in entries if str(entry) not in known]
        if unknown:
            raise SpecError(field, f"has a record {unknown[0]!r}", "use indices of the factor's space, or labels")
        return np.array([known[str(entry)] for entry in entries])
    indices = np.array(entries, dtype=np.int64)
    if indices.min() < 0 or indices.max() >= len(known):
        raise SpecError(field, "has an index out of range", f"indices run from 0 to {len(known) - 1}")
    return indices
