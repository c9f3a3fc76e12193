"""What the tests share. Plain unittest, so that they run where there is no pytest: python3 -m unittest discover."""

import os
import sys
import unittest
from pathlib import Path
from unittest import mock

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
sys.path.insert(0, str(TESTS.parent))

import assay  # noqa: E402
from assay import _commands  # noqa: E402

REAL_PROGRAM = os.environ.get("ASSAY_BINARY")


class WithFakeProgram(unittest.TestCase):
    """A program that does what its words say."""

    def setUp(self):
        patch = mock.patch.dict(os.environ, {"ASSAY_BINARY": str(TESTS / "fake_assay")})
        patch.start()
        self.addCleanup(patch.stop)
        _commands._help_of.cache_clear()
        self.addCleanup(_commands._help_of.cache_clear)


__all__ = ["REAL_PROGRAM", "ROOT", "TESTS", "WithFakeProgram", "assay"]
