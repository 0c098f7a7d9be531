"""The public C headers, read as they are: their constants, structures and functions for ctypes.

So a value, a member or an argument is written down once, in include/firn. A declaration is looked up
by name and understood when it is first used.

Does NOT do: macros, bit fields.
"""

import ctypes
import os
import re

_BASIC = {
    "void": None,
    "char": ctypes.c_char,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "unsigned int": ctypes.c_uint,
    "long": ctypes.c_long,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    **{f"{u}int{bits}_t": getattr(ctypes, f"c_{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)},
}
_QUALIFIERS = re.compile(r"\b(const|restrict|volatile|struct|enum)\b")


def _plain(text):
    """Without comments and directives."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"^\s*#\s*ifdef __cplusplus.*?#\s*endif", " ", text, flags=re.S | re.M)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    return re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text)


def _statements(text):
    """What stands between the semicolons outside of braces."""
    statement, depth = [], 0
    for piece in re.split(r"([{};])", text):
        depth += (piece == "{") - (piece == "}")
        if piece == ";" and depth == 0:
            yield " ".join("".join(statement).split())
            statement = []
        else:
            statement.append(piece)


class Headers:
    """Every declaration of a folder of headers."""

    def __init__(self, folder):
        self._enums, self._structures, self._aliases, self._functions = {}, {}, {}, {}
        self._function_types = {}
        self._constants = {}
        self._made = {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".h"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    for statement in _statements(_plain(file.read())):
                        self._file(statement)

    def _file(self, text):
        if match := re.fullmatch(r"(?:typedef )?enum ?(\w*) ?\{(.*)\} ?\w*", text):
            self._enums[match[1]] = self._count(match[2])
        elif match := re.fullmatch(r"(?:typedef )?struct (\w+) ?\{(.*)\} ?\w*", text):
            self._structures[match[1]] = match[2]
        elif match := re.fullmatch(r"(?:typedef )?struct (\w+)(?: \w+)?", text):
            self._structures.setdefault(match[1], None)
        elif match := re.fullmatch(r"typedef (.+?) ?\(\* ?(\w+)\) ?\((.*)\)", text):
            self._function_types[match[2]] = (match[1], match[3], True)
        elif match := re.fullmatch(r"typedef (.+?[ *])(\w+) ?\((.*)\)", text):
            self._function_types[match[2]] = (match[1], match[3], False)
        elif match := re.fullmatch(r"typedef (.+?[ *])(\w+)", text):
            self._aliases[match[2]] = match[1]
        elif match := re.fullmatch(r"(.+?[ *])(\w+) ?\((.*)\)", text):
            self._functions[match[2]] = (match[1], match[3])

    def _count(self, body):
        """The constants of one enum, which later ones may refer to."""
        constants, value = {}, -1
        for entry in filter(None, map(str.strip, body.split(","))):
            name, _, formula = map(str.strip, entry.partition("="))
            formula = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", formula)
            value = eval(formula, {"__builtins__": {}}, self._constants) if formula else value + 1
            constants[name] = self._constants[name] = value
        return constants

    def constants(self, enum):
        """Of a named enum: {name: value}."""
        return dict(self._enums[enum])

    def words(self, prefix):
        """{"cubic": 0, ...}: the constants that begin with a prefix, by the rest of their names."""
        return {name[len(prefix):].lower(): value for name, value in self._constants.items() if name.startswith(prefix)}

    def enum_word(self, enum, value):
        """A constant in a scene's words: the part of its name that sets it apart in its enum."""
        names = self._enums[enum]
        shared = os.path.commonprefix([f"{name}_" for name in names]) if len(names) > 1 else "FIRN_"
        shared = shared[: shared.rfind("_") + 1]
        return next((n[len(shared):].lower() for n, v in names.items() if v == value), str(value))

    @staticmethod
    def members(structure):
        """(name, type) of every member, those of nameless structs and unions included."""
        for name, kind in structure._fields_:
            if name in getattr(structure, "_anonymous_", ()):
                yield from Headers.members(kind)
            else:
                yield name, kind

    # ---- Types --------------------------------------------------------------------------------------

    def structure(self, name):
        """The ctypes.Structure of a struct; its `enums` tell which members are of which enum."""
        if name not in self._made:
            self._made[name] = type(name, (ctypes.Structure,), {"enums": {}})
            self._give_members(self._made[name], self._structures[name] or "")
        return self._made[name]

    def _give_members(self, made, body):
        fields, nameless = [], []
        for member in _statements(body):
            if match := re.fullmatch(r"(union|struct) ?\{(.*)\} ?(\w*)", member):
                base = ctypes.Union if match[1] == "union" else ctypes.Structure
                inner = type(match[1], (base,), {"enums": made.enums})
                self._give_members(inner, match[2])
                fields.append((match[3] or f"_{len(fields)}", inner))
                nameless += [] if match[3] else [fields[-1][0]]
                continue
            first, *others = member.split(",")
            base = re.match(r"[^*]*(?=\*)|.*(?= \w+)", first)[0]
            for declarator in (first, *(f"{base} {other}" for other in others)):
                kind, called = self._declared(declarator)
                fields.append((called, kind))
                plain = _QUALIFIERS.sub(" ", base).strip()
                if plain in self._enums:
                    made.enums[called] = plain
        made._anonymous_ = nameless
        made._fields_ = fields

    def function(self, name):
        """(result type, argument types, the result as written) of a function."""
        result, arguments = self._functions[name]
        return self._type(result, 0), self._arguments(arguments), result.strip()

    def function_type(self, name):
        """The ctypes prototype of a function typedef, to make callbacks of."""
        if name not in self._made:
            result, arguments, _ = self._function_types[name]
            self._made[name] = ctypes.CFUNCTYPE(self._type(result, 0), *self._arguments(arguments))
        return self._made[name]

    def _arguments(self, text):
        if text.strip() in ("", "void"):
            return []
        return [self._declared(argument, decays=True)[0] for argument in text.split(",")]

    def _declared(self, text, decays=False):
        """The type and the name of `const double *x` or `double x[3]`; as an argument, an array is a
        pointer."""
        sizes = re.findall(r"\[(\w*)\]", text)
        text = re.sub(r"\[\w*\]", "", text).strip()
        match = re.fullmatch(r"(.*[\s*])(\w+)", text)
        name = match[2] if match and match[2] not in _BASIC else ""
        stars = 1 if sizes and decays else 0
        kind = self._type(match[1] if name else text, stars)
        for size in reversed([] if decays else sizes):
            kind *= int(size) if size.isdigit() else self._constants[size]
        return kind, name

    def _type(self, text, stars):
        """The ctypes type of some words with stars behind them, and `stars` more."""
        stars += text.count("*")
        words = " ".join(_QUALIFIERS.sub(" ", text.replace("*", " ")).split())
        if words in self._aliases:
            return self._type(self._aliases[words], stars)
        if words in self._enums:
            kind = ctypes.c_int
        elif words in self._function_types:
            kind = self.function_type(words)
            stars -= 0 if self._function_types[words][2] else 1
        elif words in self._structures:
            kind = self.structure(words)
        elif words in _BASIC:
            kind = _BASIC[words]
        elif stars:
            kind = None  # FILE and the like: only handed through
        else:
            raise TypeError(f"no type '{words}' in the headers")
        if stars and kind in (None, ctypes.c_char):
            kind, stars = (ctypes.c_void_p if kind is None else ctypes.c_char_p), stars - 1
        for _ in range(stars):
            kind = ctypes.POINTER(kind)
        return kind
