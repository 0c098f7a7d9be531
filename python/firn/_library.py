"""libfirn, found and loaded; its failures as exceptions and its remarks as log records."""

import atexit
import ctypes
import ctypes.util
import enum
import hashlib
import logging
import os
import threading
import weakref

from ._headers import Headers

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_HERE))

log = logging.getLogger("firn")


def _header_folder():
    """Beside an installed module; in the source tree, the tree's own."""
    beside = os.path.join(_HERE, "include")
    return beside if os.path.isdir(beside) else os.path.join(_ROOT, "include", "firn")


def _library_paths():
    """Where libfirn may be, the likeliest first."""
    if "FIRN_LIBRARY" in os.environ:
        yield os.environ["FIRN_LIBRARY"]
        return
    yield os.path.join(_ROOT, "build", "libfirn.so")
    folder = _HERE
    while folder != os.path.dirname(folder):  # PREFIX/lib/python3/dist-packages/firn: PREFIX/lib
        folder = os.path.dirname(folder)
        yield os.path.join(folder, "libfirn.so")
    found = ctypes.util.find_library("firn")
    if found:
        yield found


def _load():
    for path in _library_paths():
        if os.path.exists(path) or not os.path.dirname(path) or "FIRN_LIBRARY" in os.environ:
            return ctypes.CDLL(path)
    raise ImportError(
        "libfirn.so was not found: build it (make), install it (cmake --install build), "
        "or name it in the environment variable FIRN_LIBRARY"
    )


def _checksum(folder):
    """Of the headers, as the build takes it (see cmake/interface.cmake)."""
    digests = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".h"):
            with open(os.path.join(folder, name), "rb") as file:
                digests.append(hashlib.sha256(file.read()).hexdigest())
    return hashlib.sha256("".join(digests).encode()).hexdigest()


headers = Headers(_header_folder())
Status = enum.IntEnum(
    "Status",
    {name.removeprefix("FIRN_"): value for name, value in headers.constants("firn_status").items()},
    module="firn",
)


class Error(Exception):
    """A call that the library refused. `status` is a firn.Status and the exit code that the program
    would end with; the text is the library's own message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = Status(status)


Error.__module__ = "firn"


class _Library:
    """The functions of libfirn by their names in C. One that returns a status other than OK raises."""

    def __init__(self, shared):
        self._shared = shared

    def __getattr__(self, name):
        function = getattr(self._shared, name)
        function.restype, function.argtypes, result = headers.function(name)
        if result == "firn_status":
            function.errcheck = self._check
        setattr(self, name, function)
        return function

    def _check(self, status, function, arguments):
        if status != Status.OK:
            raise Error(status, self.firn_last_error().decode(errors="replace"))


_shared = _load()
lib = _Library(_shared)
library_path = _shared._name
if lib.firn_interface().decode() != _checksum(_header_folder()):
    raise ImportError(f"{library_path} was built from other headers than {_header_folder()}: build it again")

# ---- Remarks ----------------------------------------------------------------------------------------

_levels = {value: getattr(logging, word.upper()) for word, value in headers.words("FIRN_LOG_").items()}


@headers.function_type("firn_log_fn")
def _remark(level, message, user):
    log.log(_levels[level], "%s", message.decode(errors="replace"))


lib.firn_set_log(_remark, None)
atexit.register(lib.firn_set_log, headers.function_type("firn_log_fn")(), None)

# ---- Objects ----------------------------------------------------------------------------------------


class Handle:
    """An object of the library: used by one thread at a time, destroyed once, and refusing to be used
    after that."""

    def __init__(self, pointer, destroy):
        self._lock = threading.RLock()
        self._destroy = destroy
        self._hold(pointer)

    def _hold(self, pointer):
        self._pointer = pointer
        self._end = weakref.finalize(self, self._destroy, ctypes.byref(pointer))

    def _call(self, function, *arguments):
        with self._lock:
            if not self._end.alive:
                raise ValueError(f"this {type(self).__name__} is closed")
            return function(self._pointer, *arguments)

    def close(self):
        """Give the memory back now rather than when the last reference goes."""
        with self._lock:
            self._end()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def make(kind, function, *arguments):
    """A pointer from a C function whose last argument is where to put it."""
    pointer = ctypes.POINTER(headers.structure(kind))()
    function(*arguments, ctypes.byref(pointer))
    return pointer


def encode_path(path):
    return os.fsencode(os.fspath(path))
