"""Type hints: a checker that is told to be strict refuses calls of whatever lacks one."""

import ast
import unittest
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def unannotated(function):
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    missing = [one.arg for one in named if one is not None and one.annotation is None and one.arg not in ("self", "cls")]
    return missing + (["what it returns"] if function.returns is None and function.name != "__init__" else [])


class Hints(unittest.TestCase):
    def test_every_function_of_the_package_has_them(self):
        for file in [*(PACKAGE / "assay").glob("*.py"), PACKAGE / "assay_markers.py"]:
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    with self.subTest(file=file.name, function=node.name):
                        self.assertEqual(unannotated(node), [])

    def test_the_package_says_that_it_has_them(self):
        self.assertTrue((PACKAGE / "assay" / "py.typed").is_file())


if __name__ == "__main__":
    unittest.main()
