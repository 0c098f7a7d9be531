"""The bridge itself: headers as the compiler reads them, failures, remarks, finding the library."""

import ctypes
import glob
import logging
import os
import shutil
import subprocess

import firn
from firn import _library
from firn._headers import Headers
from harness import Case, main

HEADERS = _library._header_folder()


class AgainstTheCompiler(Case):
    """Sizes, places of members and values of constants, printed by a C program."""

    def compile_and_run(self, lines):
        names = sorted(os.path.basename(path) for path in glob.glob(f"{HEADERS}/*.h"))
        source = "".join(f'#include "firn/{name}"\n' for name in names)
        source += "#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"
        source += "".join(f'    printf("%lld\\n", (long long)({line}));\n' for line in lines) + "    return 0;\n}\n"
        program = self.path("program")
        include = os.path.dirname(os.path.abspath(HEADERS))
        subprocess.run(["cc", "-I", include, "-o", program, self.write("program.c", source)], check=True)
        return [int(word) for word in subprocess.run([program], capture_output=True, check=True).stdout.split()]

    def test_structures(self):
        headers, wanted, found = _library.headers, [], []
        for name, body in headers._structures.items():
            if body is None:
                continue
            made = headers.structure(name)
            wanted += [f"sizeof({name})"]
            found += [ctypes.sizeof(made)]
            wanted += [f"offsetof({name}, {field})" for field, _ in headers.members(made)]
            found += [getattr(made, field).offset for field, _ in headers.members(made)]
        self.assertGreater(len(found), 50)
        self.assertEqual(dict(zip(wanted, found)), dict(zip(wanted, self.compile_and_run(wanted))))

    def test_constants(self):
        constants = _library.headers._constants
        self.assertGreater(len(constants), 30)
        self.assertEqual(list(constants.values()), self.compile_and_run(constants))

    def test_every_function_is_understood_and_there(self):
        for name in _library.headers._functions:
            with self.subTest(name):
                self.assertTrue(getattr(_library.lib, name))


class Reading(Case):
    def test_constructs(self):
        self.write(
            "a.h",
            """
            /* comment; with { odd } things */
            #define MACRO(x) \\
                do_not_read(x);
            #ifdef __cplusplus
            extern "C" {
            #endif
            enum { FIRN_A_ONE = 1 << 0, FIRN_A_TWO = 1u << 1, FIRN_A_BOTH = FIRN_A_ONE | FIRN_A_TWO, FIRN_A_MORE, };
            typedef enum kind { KIND_FIRST = 0x10, KIND_SECOND } kind;
            typedef struct hidden hidden;
            typedef double answer(const hidden *thing, void *user);
            typedef bool (*question)(int);
            typedef float real;
            typedef struct whole {
                const double *x, *y; // two
                char name[8];
                real m[2][FIRN_A_BOTH];
                kind sort;
                answer *ask;
                question again;
                struct whole *next;
                unsigned int bits, more;
                union {
                    struct { float *a, *b; kind other; };
                    float *both[FIRN_A_TWO];
                };
                struct { int u; } named;
            } whole;
            whole *make(const char *const *names, size_t count, const double at[3], unsigned flags, FILE *out);
            void nothing(void) __attribute__((cold));
            """,
        )
        headers = Headers(self.home)
        self.assertEqual(headers.words("FIRN_A_"), {"one": 1, "two": 2, "both": 3, "more": 4})
        self.assertEqual(headers.enum_word("kind", 17), "second")
        made = headers.structure("whole")
        self.assertEqual(
            [name for name, _ in headers.members(made)],
            ["x", "y", "name", "m", "sort", "ask", "again", "next", "bits", "more", "a", "b", "other", "both", "named"],
        )
        kinds = dict(headers.members(made))
        self.assertEqual(kinds["y"], ctypes.POINTER(ctypes.c_double))
        self.assertEqual(kinds["m"], ctypes.c_float * 3 * 2)
        self.assertEqual(kinds["next"], ctypes.POINTER(made))
        self.assertEqual(made.b.offset, made.a.offset + ctypes.sizeof(ctypes.c_void_p))
        self.assertEqual(made.both.offset, made.a.offset)
        self.assertEqual(made.enums, {"sort": "kind", "other": "kind"})
        result, arguments, _ = headers.function("make")
        self.assertEqual(result, ctypes.POINTER(made))
        self.assertEqual(
            arguments,
            [ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, ctypes.POINTER(ctypes.c_double), ctypes.c_uint,
             ctypes.c_void_p],
        )
        self.assertEqual(headers.function("nothing")[:2], (None, []))
        self.assertEqual(kinds["ask"]._restype_, ctypes.c_double)


class Failures(Case):
    def test_status_and_message(self):
        with self.assertRaises(firn.Error) as caught:
            firn.Scene(self.path("none.yaml"))
        self.assertIs(caught.exception.status, firn.Status.NO_INPUT)
        self.assertEqual(caught.exception.status, 66)
        self.assertIn("none.yaml", str(caught.exception))

    def test_bad_scene_with_line(self):
        path = self.write("bad.yaml", "simulation:\n  cell_sise: 0.1\n")
        with self.assertRaises(firn.Error) as caught:
            firn.Scene(path)
        self.assertIs(caught.exception.status, firn.Status.BAD_SCENE)
        self.assertIn("bad.yaml:2:3", str(caught.exception))
        self.assertIn("cell_size", str(caught.exception))


class Remarks(Case):
    def test_remarks_are_log_records(self):
        with self.assertLogs("firn", logging.INFO) as caught:
            _library._remark(1, b"all is well", None)
            _library._remark(2, b"100% snow", None)
        self.assertEqual([record.levelname for record in caught.records], ["INFO", "WARNING"])
        self.assertEqual(caught.records[1].getMessage(), "100% snow")


class Finding(Case):
    def test_names_itself(self):
        self.assertEqual(os.path.realpath(firn.library_path), os.path.realpath(os.environ["FIRN_LIBRARY"]))
        self.assertRegex(firn.__version__, r"^\d+\.\d+\.\d+$")
        self.assertIn("backends", firn.features)

    def test_no_library(self):
        module = shutil.copytree(os.path.dirname(firn.__file__), self.path("firn"))
        shutil.copytree(HEADERS, self.path("firn", "include"), dirs_exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if key not in ("FIRN_LIBRARY", "PYTHONPATH")}
        done = subprocess.run(
            ["/usr/bin/python3", "-B", "-c", "import firn"], cwd=self.home, env=environment, capture_output=True, text=True
        )
        if done.returncode == 0:
            self.skipTest("a library is installed on this machine")
        self.assertTrue(module)
        self.assertIn("ImportError: libfirn.so was not found: build it", done.stderr)

    def test_other_headers_are_refused(self):
        shutil.copytree(os.path.dirname(firn.__file__), self.path("firn"))
        shutil.copytree(HEADERS, self.path("firn", "include"), dirs_exist_ok=True)
        with open(self.path("firn", "include", "io.h"), "a", encoding="utf-8") as file:
            file.write("/* changed */\n")
        _, err = self.python("import firn", code=1, PYTHONPATH=self.home)
        self.assertIn("was built from other headers", err)


if __name__ == "__main__":
    main()
