"""Figures that notebooks show by themselves, with or without pyplot."""

from __future__ import annotations

from io import BytesIO

from matplotlib import figure
from matplotlib.backends.backend_agg import FigureCanvasAgg

_SHOWN_DPI = 100
_DPI = 200


class Figure(figure.Figure):
    """A figure of matplotlib that belongs to no window.

    Where it is the last value of a cell, a notebook shows it once: pyplot does not know of it, and so does not show
    it again.
    """

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture for a notebook, at twice the resolution at which it is shown, for sharp screens."""
        painted = BytesIO()
        self.savefig(painted, format="png", dpi=_DPI, metadata={"Software": None})
        width, height = (round(size * _SHOWN_DPI) for size in self.get_size_inches())
        return painted.getvalue(), {"width": width, "height": height}
