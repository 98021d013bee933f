"""Which names of columns look like data, and what messages list of the others."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from dxopt.errors import SpecError
from dxopt.runtime.column_names import is_data, listed, looks_like_data, no_column, require_header

DATA = (
    "37.767530", "-122.428865", "37,7", "+3", ".5", "1e3", "12", "nan", "-inf", "2024-05-01", "2024-05-01T10:00:00Z",
    "01/05/2024 10:30", "1.5.2024", "1 May 2024", "Wed, 01 May 2024 10:00", "10:30 PM", "48.5°N", "48° 51′ N", " 1 ",
)  # fmt: skip
NAMES = (
    "lat",
    "p093",
    "e1",
    "t 0",
    "May",
    "route_66",
    "2019_2020",
    "",
    " ",
    "24hours",
    "Unnamed: 0",
    "-",
    "mar",
    "x/y",
)


@pytest.mark.parametrize("name", DATA)
def test_numbers_and_dates_are_data(name: str) -> None:
    assert is_data(name)
    assert looks_like_data(["person", name])
    for said in (None, True, False):
        with pytest.raises(SpecError) if said is None else nullcontext():
            require_header(["p093", name], (), said, proven=False)


def test_other_names_are_listed() -> None:
    assert not any(map(is_data, NAMES))
    assert no_column("lat", ["latitude", "lon"]) == ("there is no column 'lat'", "choose among latitude, lon")
    assert no_column("lat", []) == ("there is no column 'lat'", "add it")
    assert listed([" lat", "lon ", "a b", ""]) == "' lat', 'lon ', a b, ''"
    assert listed([f"c{place}" for place in range(13)]).endswith("c11, …")
