"""Firn from Python: scenes, simulations and frames of the C library, with numpy arrays.

    import firn

    sim = firn.Simulation("scenes/snowball_drop_2d.yaml")
    for frame in sim.run():
        print(frame, sim.time, sim["position"].mean(axis=0))

Everything is in SI units. What the library refuses becomes a firn.Error with its status and message;
its remarks go to the logger "firn". Names of attributes, formats and colours are the library's.

Does NOT do: manage run folders, resume by itself, choose when to save; `firn run` does.
"""

from ._library import Error, Status, library_path, lib as _lib
from ._records import attributes
from .frame import Frame, colours, formats, preview, read_checkpoint_info, read_frame
from .scene import Scene
from .simulation import Simulation

__version__ = _lib.firn_version().decode()
features = _lib.firn_features().decode()

__all__ = [
    "Error", "Frame", "Scene", "Simulation", "Status", "attributes", "colours", "features", "formats",
    "library_path", "preview", "read_checkpoint_info", "read_frame",
]
