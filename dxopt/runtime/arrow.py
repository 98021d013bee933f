"""Arrays of Arrow without metadata and dictionaries, and their values as Python has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dxopt.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa


def bare_type(kind: pa.DataType) -> pa.DataType:
    """Return a type of Arrow without metadata and dictionaries, which may hold values of rows that are left out.

    Views, runs and decimals of tens become columns of the usual kind. SpecError for a union, of which Arrow
    filters none.
    """
    return _mapped(kind, _usual)


def _mapped(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a bare type of Arrow, with other types for those that have no parts."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return _mapped(kind.storage_type, leaf)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _mapped(kind.value_type, leaf)
    if types.is_struct(kind):
        fields = map(kind.field, range(kind.num_fields))
        return pa.struct([pa.field(field.name, _mapped(field.type, leaf)) for field in fields])
    if types.is_map(kind):
        return pa.map_(_mapped(kind.key_type, leaf), _mapped(kind.item_type, leaf))
    if types.is_fixed_size_list(kind):
        return pa.list_(_mapped(kind.value_type, leaf), kind.list_size)
    name = str(kind)
    if name.startswith(("list", "large_list")):
        build = pa.large_list if name.startswith("large") else pa.list_
        return build(_mapped(kind.value_type, leaf))
    return leaf(kind)


def _usual(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_union(kind):
        raise SpecError("data", "has a column whose values are of several types", "leave it out first")
    if pa.types.is_decimal(kind) and kind.scale < 0:
        return pa.decimal256(min(kind.precision - kind.scale, 76), 0)
    return {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(kind), kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type that has the same bytes and a value of Python for any: times are integers, and texts bytes."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_temporal(kind) and not types.is_interval(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return {"string": pa.binary(), "large_string": pa.large_binary()}.get(str(kind), kind)


def bare_array(array: Any) -> Any:
    """Return an array of Arrow, or a chunked one, of its bare type, rebuilt from its values alone.

    Nothing else that its buffers have is in it, such as what is under nulls, around a slice, between lists.
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array(map(bare_array, array.chunks), bare_type(array.type))
    return _rebuilt(array, _usual)


def plain_array(array: Any) -> pa.Array:
    """Return a bare array, or a chunked one, in one piece, whose values Python has whatever they are."""
    import pyarrow as pa

    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return pa.concat_arrays([_rebuilt(chunk, _plain) for chunk in chunks or [pa.array([], array.type)]])


def _rebuilt(array: Any, leaf: Callable[[pa.DataType], pa.DataType]) -> Any:
    """Return an array of its values alone, with other types for those that have no parts."""
    import pyarrow as pa
    from pyarrow import types

    kind = _mapped(array.type, leaf)
    if isinstance(array.type, pa.BaseExtensionType):
        return _rebuilt(array.storage, leaf)
    if types.is_null(kind):
        return pa.nulls(len(array))
    rows = np.arange(array.offset, array.offset + len(array))
    if types.is_dictionary(array.type):
        return _rebuilt(array.dictionary, leaf).take(array.indices)
    if types.is_run_end_encoded(array.type):
        return _rebuilt(array.values, leaf).take(pa.array(np.searchsorted(array.run_ends, rows, side="right")))
    if not types.is_nested(kind):
        return array.cast(_usual(array.type)).take(pa.array(rows - array.offset)).view(kind)
    valid = np.asarray(array.is_valid())
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little")) if array.null_count else None]
    if types.is_struct(kind):
        parts = [_rebuilt(part, leaf) for part in array.flatten()]
        return pa.Array.from_buffers(kind, len(array), buffers, children=parts)
    if types.is_fixed_size_list(kind):
        starts, sizes = rows * kind.list_size, np.full(len(array), kind.list_size)
    elif "list_view<" in str(array.type)[:16]:
        starts, sizes = np.asarray(array.offsets), np.where(valid, array.sizes, 0)
    else:
        starts, sizes = np.asarray(array.offsets)[:-1], np.where(valid, np.diff(array.offsets), 0)
    ends = np.cumsum(np.append(0, sizes))
    places = np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
    first, behind = (places.min(), places.max() + 1) if len(places) else (0, 0)
    taken = pa.array(places - first, mask=~valid.repeat(sizes))
    parts = [array.keys, array.items] if types.is_map(kind) else [array.values]
    parts = [_rebuilt(part.slice(first, behind - first), leaf).take(taken) for part in parts]
    if types.is_map(kind):
        return pa.MapArray.from_arrays(pa.array(ends, pa.int32(), mask=np.append(~valid, False)), *parts)
    if not types.is_fixed_size_list(kind):
        buffers.append(pa.py_buffer(ends.astype(np.int64 if types.is_large_list(kind) else np.int32)))
    return pa.Array.from_buffers(kind, len(array), buffers, children=parts)


def values_of(array: Any) -> Any:
    """Return the values of a bare array, or a chunked one, of the same kind also where some are missing."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_temporal(kind):
        return list(map(_moment, array))
    listed = array.null_count and not pa.types.is_floating(kind)
    try:
        return array.to_pylist() if listed else np.asarray(array.to_numpy(zero_copy_only=False))
    except (ValueError, pa.ArrowException):  # text that is none
        return plain_array(array).to_pylist()


def _moment(scalar: pa.Scalar) -> Any:
    """Return a time or a duration as Python has it; as text or as NumPy has it where that would change it."""
    import pyarrow as pa

    if scalar.type == pa.time64("ns") and scalar.is_valid and scalar.value % 1000:
        return scalar.cast(pa.string()).as_py()
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):  # years that Python has none of
        return pa.array([scalar], scalar.type).to_numpy(zero_copy_only=False)[0]
