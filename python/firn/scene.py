"""Scenes: what `firn check` reads."""

import collections.abc
import ctypes
import json
import os

import numpy

from ._library import Handle, encode_path, headers, lib, make
from ._records import record


def _plain(value):
    """numpy's numbers and arrays, for json."""
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a scene cannot hold {value!r}")


def _overrides(values, prefix=""):
    """`key.path=value` for every value of nested mappings; values in JSON, which YAML contains."""
    for key, value in values.items():
        if isinstance(value, collections.abc.Mapping) and value:
            yield from _overrides(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={json.dumps(value, default=_plain)}".encode()


class Scene(Handle):
    """A checked scene.

        firn.Scene("drop.yaml")
        firn.Scene("drop.yaml", {"simulation.cell_size": 0.02, "snow.ball.velocity": [0, -3, 0]})
        firn.Scene("drop.yaml", simulation={"frames": 12})
        firn.Scene.parse(text_or_mapping)

    Values given besides the file replace its own, as `firn run --set` does: in a dict by path, or
    nested in dicts, or as keywords. None takes a key away."""

    def __init__(self, path, values=None, /, **keywords):
        self._start(lib.firn_scene_load, (encode_path(path),), values, keywords)

    @classmethod
    def parse(cls, text, values=None, /, *, name="scene", **keywords):
        """The same from text (YAML or JSON) or from a dict. Files named in it are relative to the
        working folder; `name` stands in messages where the path would."""
        if isinstance(text, collections.abc.Mapping):
            text = json.dumps(text, default=_plain)
        scene = cls.__new__(cls)
        scene._start(lib.firn_scene_parse, (text.encode(), name.encode()), values, keywords)
        return scene

    def _start(self, function, source, values, keywords):
        self._function, self._source = function, source
        self._values = [*_overrides(values or {}), *_overrides(keywords)]
        super().__init__(self._read(self._values), lib.firn_scene_destroy)

    def _read(self, values):
        return make("firn_scene", self._function, *self._source, (ctypes.c_char_p * len(values))(*values), len(values))

    def set(self, values=None, /, **keywords):
        """Read the scene again with more values replaced. Simulations made before keep theirs."""
        with self._lock:
            self._call(lib.firn_scene_name)
            longer = [*self._values, *_overrides(values or {}), *_overrides(keywords)]
            fresh = self._read(longer)
            self._end()
            self._values = longer
            self._hold(fresh)

    @property
    def name(self):
        return self._call(lib.firn_scene_name).decode()

    @property
    def settings(self):
        """The blocks `simulation` and `output` with defaults filled in."""
        raw = self._call(lib.firn_scene_settings).contents
        formats = tuple(word for word, bit in headers.words("FIRN_FORMAT_").items() if raw.formats & bit)
        return record(raw, formats=formats)

    @property
    def fingerprint(self):
        """Equal for scenes that give the same bits."""
        return self._call(lib.firn_scene_fingerprint)

    def _names(self, count, name):
        return tuple(self._call(name, index).decode() for index in range(self._call(count)))

    @property
    def objects(self):
        """Names of the snow objects."""
        return self._names(lib.firn_scene_object_count, lib.firn_scene_object_name)

    @property
    def colliders(self):
        """Names of the colliders."""
        return self._names(lib.firn_scene_collider_count, lib.firn_scene_collider_name)

    def collider_distance(self, collider, points, time=0.0):
        """Signed distances from points (..., d) to a collider, by name or index; negative inside."""
        index = self.colliders.index(collider) if isinstance(collider, str) else range(len(self.colliders))[collider]
        points = numpy.asarray(points, float)
        flat = numpy.zeros((points[..., 0].size, 3))
        flat[:, : points.shape[-1]] = points.reshape(len(flat), -1)
        pointer = ctypes.POINTER(ctypes.c_double)
        distances = [
            self._call(lib.firn_scene_collider_distance, index, time, row.ctypes.data_as(pointer)) for row in flat
        ]
        return numpy.array(distances).reshape(points.shape[:-1])

    def estimate(self, backend=None, threads=0):
        """What a run would take, and warnings: what `firn check` prints."""
        raw = headers.structure("firn_estimate")()
        self._call(lib.firn_scene_estimate, ctypes.byref(options(backend, threads)), ctypes.byref(raw))
        try:
            return record(raw, warnings=tuple(raw.warnings[k].decode() for k in range(raw.warning_count)))
        finally:
            lib.firn_estimate_clear(ctypes.byref(raw))

    def __repr__(self):
        return f"<firn.Scene '{self.name}'>" if self._end.alive else "<firn.Scene, closed>"


def options(backend, threads):
    return headers.structure("firn_sim_options")(backend.encode() if backend else None, threads)


def as_scene(scene):
    """A scene from what stands for one: a Scene, a mapping or a path."""
    if isinstance(scene, Scene):
        return scene
    return Scene.parse(scene) if isinstance(scene, collections.abc.Mapping) else Scene(scene)
