"""Frames: files of particles read into memory, their formats, and pictures of them."""

import ctypes
import os
import weakref

from ._library import encode_path, headers, lib
from ._records import attribute_shape, attributes, choice, record, view

formats = tuple(headers.words("FIRN_FORMAT_"))
_spelling = {name.lower(): name for name in attributes}
colours = tuple(_spelling.get(word, word) for word in headers.words("FIRN_COLOUR_"))


def format_of(path, name=None):
    """The bit of a format: by its name, or by the extension that the library gives it."""
    if name is not None:
        return choice("FIRN_FORMAT_", name)
    extension = os.path.splitext(os.fsdecode(path))[1].lstrip(".")
    known = {lib.firn_format_extension(bit).decode(): bit for bit in headers.words("FIRN_FORMAT_").values()}
    if extension not in known:
        raise ValueError(f"{os.fsdecode(path)}: no format has the extension '{extension}', only: {', '.join(known)}")
    return known[extension]


class Frame:
    """A frame or checkpoint in memory. `id`, `object` and the attributes are arrays on the library's
    memory, which lives as long as the frame or any of its arrays does. float32, and three components
    even in 2D."""

    def __init__(self, path):
        self._raw = headers.structure("firn_frame")()
        lib.firn_frame_read(encode_path(path), ctypes.byref(self._raw))
        self._owner = _Owner(self._raw)
        self.path = os.fsdecode(path)
        self.arrays = {}
        for name, kind in headers.members(type(self._raw)):
            value = getattr(self._raw, name)
            if hasattr(kind, "contents"):
                value = view(value, attribute_shape(name, self._raw.count, 3), self._owner)
                if value is None:
                    continue
                self.arrays[name] = value
            setattr(self, name, value)

    def __getitem__(self, name):
        return self.arrays[name]

    def __len__(self):
        return self.count

    def __repr__(self):
        return f"<firn.Frame '{self.path}', {self.count} particles, frame {self.frame}, {self.time:g} s>"


class _Owner:
    """Frees the memory of a frame when nothing refers to it any more."""

    def __init__(self, raw):
        weakref.finalize(self, lib.firn_frame_clear, ctypes.byref(raw))


def read_frame(path):
    """A frame (.hdf) or a checkpoint (.h5)."""
    return Frame(path)


def read_checkpoint_info(path):
    """What a checkpoint says of itself, without its particles."""
    raw = headers.structure("firn_checkpoint_info")()
    lib.firn_checkpoint_read_info(encode_path(path), ctypes.byref(raw))
    return record(raw)


def preview(frames, path, *, columns=0, colour="snow", scene=None, width=0, height=0):
    """A PNG of one frame or several side by side, seen by one camera and labelled with their times.
    Frames are Frame objects or paths; the colliders of `scene` are drawn if it is given."""
    from .scene import as_scene

    frames = [frames] if isinstance(frames, (Frame, str, os.PathLike)) else frames
    frames = [frame if isinstance(frame, Frame) else Frame(frame) for frame in frames]
    raw = (headers.structure("firn_frame") * len(frames))(*(frame._raw for frame in frames))
    look = headers.structure("firn_preview_options")(width=width, height=height, colour=choice("FIRN_COLOUR_", colour))

    def draw(pointer):
        look.scene = pointer
        lib.firn_preview_sheet(raw, len(frames), columns, ctypes.byref(look), encode_path(path))

    draw(None) if scene is None else as_scene(scene)._call(draw)
