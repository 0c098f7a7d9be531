"""Simulations: create, step, read, change, save."""

import ctypes

import numpy

from ._library import Handle, encode_path, headers, lib, make
from ._records import attribute_shape, attributes, record
from .frame import format_of
from .scene import as_scene, options


MANY = 2**64 - 1  # steps


class Simulation(Handle):
    """Snow that can be stepped.

        firn.Simulation("drop.yaml")                                     # a Scene, a path or a dict
        firn.Simulation(scene, particles={"position": x, "mass": m, "volume": V})
        firn.Simulation(scene, checkpoint="runs/drop/checkpoint.h5")

    `backend` and `threads` are those of `firn run`. Ctrl-C takes effect between two steps and leaves a
    simulation that can go on."""

    def __init__(self, scene, *, particles=None, checkpoint=None, backend=None, threads=0):
        if particles is not None and checkpoint is not None:
            raise TypeError("give particles or a checkpoint, not both")
        scene = as_scene(scene)
        how = ctypes.byref(options(backend, threads))
        self.settings = scene.settings
        if checkpoint is not None:
            pointer = scene._call(_maker(lib.firn_sim_create_from_checkpoint), how, encode_path(checkpoint))
        elif particles is not None:
            if "position" not in particles:
                raise TypeError("particles need a position")
            raw, keep = _particles(particles, len(particles["position"]), self.settings.dimensions)
            pointer = scene._call(_maker(lib.firn_sim_create_from_particles), how, ctypes.byref(raw))
        else:
            pointer = scene._call(_maker(lib.firn_sim_create), how)
        super().__init__(pointer, lib.firn_sim_destroy)

    # ---- Going on -----------------------------------------------------------------------------------

    def step(self, count=1):
        """Steps of at most the stable time step, landing on frame times. Other threads' come on top."""
        while count > 0:
            with self._lock:
                before = self.steps
                self._call(lib.firn_sim_advance, count)
                count -= self.steps - before

    def advance(self, frames=1, stop=None):
        """Steps until so many more frame times are reached. `stop` is asked before each step; returns
        whether the frames were reached."""
        for _ in range(frames):
            before = self.frame
            while self.frame == before:
                if stop is not None and stop(self):
                    return False
                self._call(lib.firn_sim_advance, 1 if stop else MANY)
        return True

    def run(self, frames=None):
        """Yields the number of each frame, from the next one to the last of the scene, when its time is
        reached: `for frame in sim.run(): ...`"""
        last = self.settings.frames if frames is None else frames
        while self.frame < last:
            self.advance()
            yield self.frame

    # ---- Reading and changing -----------------------------------------------------------------------

    def read(self, attribute, first=0, count=None, out=None):
        """Rows of an attribute in id order as float64: (count,), (count, d) or (count, d, d). `out` is
        filled instead of a new array when given."""
        if attribute not in attributes:
            raise KeyError(f"'{attribute}' is none of: {', '.join(attributes)}")
        with self._lock:
            count = len(self) - first if count is None else count
            shape = attribute_shape(attribute, count, self.dimensions)
            out = numpy.empty(shape) if out is None else out
            if out.dtype != numpy.float64 or out.shape != shape or not out.flags.c_contiguous or not out.flags.writeable:
                raise ValueError(f"out: a writable float64 array of shape {shape} in C order is needed")
            self._call(lib.firn_sim_read, attributes.index(attribute), first, count, _pointer(out, ctypes.c_double))
        return out

    def __getitem__(self, attribute):
        """A copy of `id`, `object` or an attribute of all particles."""
        if attribute not in ("id", "object"):
            return self.read(attribute)
        with self._lock:
            pointer = self._call(lib.firn_sim_ids if attribute == "id" else lib.firn_sim_objects)
            return numpy.ctypeslib.as_array(pointer, (len(self),)).copy()

    def write(self, **arrays):
        """Change attributes of all particles between two steps: sim.write(velocity=v, J_P=1). Several
        at once are cheaper than one after the other. What fits one particle is given to all."""
        with self._lock:
            raw, keep = _particles(arrays, len(self), self.dimensions)
            self._call(lib.firn_sim_set_particles, ctypes.byref(raw))

    def __setitem__(self, attribute, values):
        self.write(**{attribute: values})

    def __len__(self):
        return self._call(lib.firn_sim_particle_count)

    @property
    def dimensions(self):
        return self._call(lib.firn_sim_dimensions)

    @property
    def cell_size(self):
        return self._call(lib.firn_sim_cell_size)

    @property
    def time(self):
        return self._call(lib.firn_sim_time)

    @property
    def steps(self):
        """Since the start of the simulation."""
        return self._call(lib.firn_sim_steps)

    @property
    def frame(self):
        """The last frame time that was reached."""
        return self._call(lib.firn_sim_frame)

    @property
    def backend(self):
        return self._call(lib.firn_sim_backend).decode()

    @property
    def is_double(self):
        """Whether the backend's state is float64."""
        return self._call(lib.firn_sim_is_double)

    def stats(self):
        """What the snow is doing now: mass, momenta, energies, extremes."""
        raw = headers.structure("firn_stats")()
        self._call(lib.firn_sim_stats, ctypes.byref(raw))
        return record(raw)

    def progress(self):
        """Steps, their lengths and where the time went, since the last reset."""
        raw = self._call(lib.firn_sim_progress)
        stages = headers.words("FIRN_STAGE_")
        return record(raw, stage_ms={word: raw.stage_ms[index] for word, index in stages.items()})

    def reset_progress(self):
        self._call(lib.firn_sim_reset_progress)

    # ---- Writing ------------------------------------------------------------------------------------

    def save(self, path):
        """The whole state, to go on from with `checkpoint=` or `firn run --resume`."""
        self._call(lib.firn_sim_save, encode_path(path))

    def write_frame(self, path, format=None):
        """The particles as they are now, in the format of the path's extension or one of
        firn.formats."""
        self._call(lib.firn_frame_write, encode_path(path), format_of(path, format))

    def __repr__(self):
        if not self._end.alive:
            return "<firn.Simulation, closed>"
        return f"<firn.Simulation, {len(self)} particles, frame {self.frame}, {self.time:g} s, {self.backend}>"


def _maker(function):
    return lambda scene, *arguments: make("firn_sim", function, scene, *arguments)


def _pointer(array, kind):
    return array.ctypes.data_as(ctypes.POINTER(kind))


def _particles(arrays, count, dimensions):
    """A firn_particles, and the arrays it borrows: the caller's own where they have the right type."""
    raw, keep = headers.structure("firn_particles")(), []
    kinds = {name: kind._type_ for name, kind in headers.members(type(raw)) if name != "count"}
    if unknown := set(arrays) - set(kinds):
        raise TypeError(f"particles have no '{unknown.pop()}', only: {', '.join(kinds)}")
    raw.count = count
    for name, values in arrays.items():
        shape = attribute_shape(name, count, dimensions)
        try:
            values = numpy.ascontiguousarray(numpy.broadcast_to(values, shape), numpy.dtype(kinds[name]))
        except ValueError:
            raise ValueError(f"{name}: shape {numpy.shape(values)} does not fit {shape}") from None
        setattr(raw, name, _pointer(values, kinds[name]))
        keep.append(values)
    return raw, keep
