"""What a space described in mechanism.npz calls its points."""

from __future__ import annotations

import math

from dxopt.verify.files import Arrays, number
from dxopt.verify.verdict import Broken

_FACTORS = 64


def label(arrays: Arrays, index: int, prefix: str = "space") -> str:
    """The label of a point: the one given, the index, or `(a, b)` of the parts of a product, the last one fastest."""
    kind = str(arrays.get(f"{prefix}.kind", ""))
    if kind == "product":
        names: list[str] = []
        for part in reversed(_parts(arrays, prefix)):
            index, inner = divmod(index, _size(arrays, part))
            names.append(label(arrays, inner, part))
        return f"({', '.join(reversed(names))})"
    if kind in ("lattice", "torus"):
        steps: list[str] = []
        for size in reversed(arrays[f"{prefix}.shape"].tolist()):
            index, step = divmod(index, size)
            steps.append(str(step))
        return steps[0] if len(steps) == 1 else f"({', '.join(reversed(steps))})"
    labels = arrays.get(f"{prefix}.labels")
    return str(labels[index]) if labels is not None and index < labels.size else str(index)


def _parts(arrays: Arrays, prefix: str) -> list[str]:
    count = number(arrays, f"{prefix}.factors")
    if not 1 <= count <= _FACTORS:
        raise Broken(f"{prefix}: a product of {count:g} factors")
    return [f"{prefix}.{part}" for part in range(int(count))]


def _size(arrays: Arrays, prefix: str) -> int:
    """How many points there are, at least 1."""
    kind = str(arrays.get(f"{prefix}.kind", ""))
    if kind == "product":
        return math.prod(_size(arrays, part) for part in _parts(arrays, prefix))
    if kind in ("lattice", "torus"):
        return max(1, math.prod(arrays[f"{prefix}.shape"].tolist()))
    labels = arrays.get(f"{prefix}.labels")
    return 1 if labels is None else max(1, labels.size)
