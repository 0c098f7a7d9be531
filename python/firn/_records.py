"""Structures of the library as Python values: named tuples with words for enums."""

import collections
import ctypes
import functools

import numpy

from ._library import headers, lib

attributes = tuple(
    lib.firn_attribute_name(index).decode() for index in range(headers.constants("firn_attribute")["FIRN_ATTRIBUTES"])
)


def attribute_shape(name, count, dimensions):
    """(count,), (count, d) or (count, d, d). Names that are no attribute (`id`) have one value a row."""
    index = attributes.index(name) if name in attributes else None
    components = 1 if index is None else lib.firn_attribute_components(index, dimensions)
    known = {1: (count,), dimensions: (count, dimensions), dimensions**2: (count, dimensions, dimensions)}
    return known.get(components, (count, components))


@functools.cache
def _kind(structure):
    name = structure.__name__.removeprefix("firn_")
    return collections.namedtuple(name, [field for field, _ in headers.members(structure)])


def _value(structure, field, value):
    if field in structure.enums:
        return headers.enum_word(structure.enums[field], value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, ctypes.Structure):
        return record(value)
    return tuple(value) if isinstance(value, ctypes.Array) else value


def record(raw, **replaced):
    """A copy of a structure as a named tuple, with some members said otherwise."""
    structure = type(raw)
    values = {field: _value(structure, field, getattr(raw, field)) for field, _ in headers.members(structure)}
    return _kind(structure)(**values | replaced)


def choice(prefix, word):
    """The constant that a word stands for: choice("FIRN_COLOUR_", "speed")."""
    words = headers.words(prefix)
    if str(word).lower() not in words:
        raise ValueError(f"'{word}' is none of: {', '.join(words)}")
    return words[str(word).lower()]


class Memory:
    """Memory of the library as numpy sees it; the array that views it keeps `owner` alive."""

    def __init__(self, pointer, shape, owner):
        dtype = numpy.dtype(pointer._type_)
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (ctypes.cast(pointer, ctypes.c_void_p).value, False),
            "shape": shape,
            "typestr": dtype.str,
        }


def view(pointer, shape, owner):
    if not pointer:
        return None
    return numpy.asarray(Memory(pointer, shape, owner))
