#!/usr/bin/env python3
"""Runs every test here; the last line is "PASSED FAILED SKIPPED", which ./check counts. pytest runs them as well.
ASSAY_BINARY: the program that is tested (default build/release/assay)."""

import os
import sys
import unittest
from pathlib import Path

here = Path(__file__).resolve().parent
os.environ.setdefault("ASSAY_BINARY", str(here.parents[1] / "build" / "release" / "assay"))
sys.path.insert(0, str(here))
tests = unittest.defaultTestLoader.discover(str(here))
outcome = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
failed = len(outcome.failures) + len(outcome.errors) + len(outcome.unexpectedSuccesses)
skipped = len(outcome.skipped)
print(outcome.testsRun - failed - skipped, failed, skipped)
sys.exit(failed > 0)
