"""A mechanism as GeoJSON (RFC 7946), for maps made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.results.maps.located import Located
from dxopt.results.report import Report
from dxopt.spaces.positions import WGS84, Positions, unrolled

Ring = NDArray[np.float64]


def geojson(answer: Mechanism | Report, *, secret: Any = None, prior: PriorLike | None = None) -> dict[str, Any]:
    """Return the locations of a mechanism with their probabilities, as a FeatureCollection that `json.dumps` writes.

    Locations are points, or polygons where each represents an area. The properties of each are its `label`, its
    `prior` probability π_x, the probability `reported` = Σ_x π_x K[x, z] that it is reported, and, for a secret x,
    `given_secret` = K[x, z] and whether it `is_secret` itself. Reports that are not the secrets are features of
    their own, and have no prior.

    Parameters
    ----------
    answer : Mechanism or Report
    secret : label or mapping, optional
        As for `draw_map`.
    prior : Prior, optional
        That of the report, or uniform, by default.

    Raises
    ------
    SpecError
        If there is no such secret, or the prior is of another size.
    UnsupportedError
        If the locations have no positions on the Earth.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
    >>> first = dx.geojson(dx.classic.exponential(places, epsilon=0.2), secret="west")["features"][0]
    >>> print(first["geometry"]["coordinates"], first["properties"]["label"])
    [-73.6, 45.5] west
    """
    located = Located.of(answer, prior)
    mechanism = located.mechanism
    about: dict[str, NDArray[Any]] = {"reported": located.expected()}
    marked: dict[str, NDArray[Any]] = {"prior": located.prior}
    if secret is not None:
        index = located.index(secret)
        about["given_secret"] = mechanism.row(index=index)
        marked["is_secret"] = np.arange(len(mechanism.space)) == index
    own = mechanism.reports.secrets
    features = _features(located.secrets, mechanism.space.labels, marked | about if own else marked)
    if not own:
        features += _features(located.reports, mechanism.reports.labels, about)
    return {"type": "FeatureCollection", "features": features}


def to_geodataframe(
    answer: Mechanism | Report, *, secret: Any = None, prior: PriorLike | None = None, crs: Any = WGS84
) -> Any:
    """Return the locations of a mechanism with their probabilities, as a GeoDataFrame.

    Parameters
    ----------
    answer, secret, prior
        As for `geojson`, whose properties are the columns.
    crs : anything that pyproj takes
        The coordinate reference system of the result, such as "EPSG:3857"; longitude and latitude by default.

    Raises
    ------
    SpecError
        As for `geojson`, or if there is no such CRS, or it does not hold there.
    UnsupportedError
        If the locations have no positions on the Earth, or GeoPandas is not installed.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
    >>> frame = dx.to_geodataframe(dx.classic.exponential(places, epsilon=0.2))
    >>> print(frame["label"].tolist(), frame["reported"].round(2).tolist())
    ['west', 'east'] [0.5, 0.5]
    """
    frame = optional("geopandas").GeoDataFrame.from_features(geojson(answer, secret=secret, prior=prior), crs=WGS84)
    try:
        placed = frame.to_crs(crs)
    except (optional("pyproj.exceptions").CRSError, TypeError, ValueError):
        raise SpecError("crs", f"there is no {crs!r}", "give a name, such as 'EPSG:3857'") from None
    if not np.isfinite(placed.total_bounds).all():
        raise SpecError("crs", f"{crs!r} does not hold for all of these places", "give another")
    return placed


def _features(found: Positions, labels: Sequence[str], columns: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return a GeoJSON feature for each location, with its label and its entry of each column as properties."""
    # longitudes from -180 to 180 degrees; those that are so already keep all digits
    longitudes = found.degrees[:, 1]
    longitudes = np.where(np.abs(longitudes) <= 180, longitudes, unrolled(longitudes, 0.0))
    points = np.column_stack([longitudes, found.degrees[:, 0]]).tolist()
    shapes: list[dict[str, Any]] = [{"type": "Point", "coordinates": point} for point in points]
    if found.outlines is not None:
        shapes = [_area_shape(outline, centre) for outline, centre in zip(found.outlines, shapes, strict=True)]
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {"type": "Feature", "geometry": shape, "properties": {"label": label, **dict(zip(columns, row, strict=True))}}
        for shape, label, row in zip(shapes, labels, rows, strict=True)
    ]


def _area_shape(outline: Ring, centre: dict[str, Any]) -> dict[str, Any]:
    """Return an area as a polygon, or as two where ±180° of longitude cuts it; its centre where a pole is inside."""
    ring = outline[:, ::-1]
    # An outline is one piece around its location: it only spans half of all longitudes if it goes around a pole, and
    # then its corners alone do not bound a polygon.
    if np.ptp(ring[:, 0]) >= 180:
        return centre
    # Turned by whole circles, the western end is from -180° on. What is then east of 180° is a polygon of its own,
    # one circle further west, as the format asks for.
    ring = ring - [360.0 * np.floor((ring[:, 0].min() + 180.0) / 360.0), 0.0]
    if ring[:, 0].max() <= 180:
        return {"type": "Polygon", "coordinates": [_closed_ring(ring)]}
    pieces = (_cut_at_180(ring, 1.0), _cut_at_180(ring, -1.0) - [360.0, 0.0])
    return {"type": "MultiPolygon", "coordinates": [[_closed_ring(piece)] for piece in pieces]}


def _cut_at_180(ring: Ring, side: float) -> Ring:
    """Return the part of a convex ring that is west (1) or east (-1) of 180°."""
    kept = []
    # Sutherland and Hodgman: corners on the side that is kept stay, and each edge across 180° adds the point where it
    # crosses.
    for here, there in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        ahead = side * (180.0 - here[0])
        behind = side * (180.0 - there[0])
        if ahead >= 0:
            kept.append(here)
        if ahead * behind < 0:
            share = ahead / (ahead - behind)
            kept.append(np.array([180.0, here[1] + share * (there[1] - here[1])]))
    return np.array(kept)


def _closed_ring(ring: Ring) -> list[list[float]]:
    """Return a ring as GeoJSON asks for: counterclockwise, closed by its first corner, without repeated corners."""
    distinct = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)]
    x, y = (distinct - distinct[0]).T
    # Twice the area, positive where the corners go counterclockwise (the shoelace formula). Relative to a corner,
    # so that small areas far from the origin keep their digits.
    twice = float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())
    ordered = distinct if twice >= 0 else distinct[::-1]
    return [*ordered.tolist(), ordered[0].tolist()]
