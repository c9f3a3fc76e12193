"""The gate of action.yml, and what counts its errors, with a program that answers as it is told."""

import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from common import ROOT

STUB = """#!/usr/bin/env bash
# Answers by a list of exit codes in the file beside it, one a call, and writes what it was asked.
folder=$(dirname "$0")
echo "$*" >>"$folder/asked"
code=$(head -n 1 "$folder/codes"); sed -i 1d "$folder/codes"
for word; do
  case $word in --json=*) cp "$folder/answer.json" "${word#--json=}" ;; esac
done
while (($# > 0)); do if [[ $1 == --markdown ]]; then echo "# compared" >"$2"; fi; shift; done
exit "$code"
"""


@unittest.skipUnless((ROOT / "tools" / "gate").exists(), "not in the source tree")
class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "assay"
        self.program.write_text(STUB)
        self.program.chmod(0o755)

    def answers(self, codes, verdict="same", ratio=1.0, stopped_by="verdict"):
        (self.folder / "codes").write_text("".join(f"{code}\n" for code in codes))
        answer = {"stopped_by": stopped_by, "cells": [{"verdict": verdict, "ratio": ratio}]}
        (self.folder / "answer.json").write_text(json.dumps(answer))

    def run_tool(self, tool, *arguments, **environment):
        command = [str(ROOT / "tools" / tool), *map(str, arguments)]
        more = {name: str(value) for name, value in environment.items()}
        return subprocess.run(command, env={**os.environ, **more}, capture_output=True, text=True, cwd=self.folder)

    def gate(self, **more):
        place = {"GITHUB_OUTPUT": self.folder / "out", "GITHUB_STEP_SUMMARY": self.folder / "summary"}
        asked = {"GATE_BASE": "old x", "GATE_HEAD": "new 'y z'", "GATE_PROGRAM": self.program}
        return self.run_tool("gate", **place | asked | more)

    def test_only_slower_beyond_doubt_fails(self):
        for code, verdict in [(0, "same"), (0, "cannot tell"), (9, "slower")]:
            with self.subTest(verdict=verdict):
                self.answers([code], verdict, 1.07)
                outcome = self.gate(GITHUB_ACTIONS="true")
                self.assertEqual(outcome.returncode, code, outcome.stderr)
                self.assertEqual("::notice" in outcome.stdout, verdict == "cannot tell")
                self.assertEqual("::error" in outcome.stdout, verdict == "slower")
                self.assertIn(f"verdict={verdict}\nratio=1.07\n", (self.folder / "out").read_text())
                self.assertIn("# compared", (self.folder / "summary").read_text())

    def test_without_a_verdict_it_ends_as_the_program_did_and_never_well(self):
        for code, ends_with in [(2, 2), (3, 3), (0, 2), (1, 1), (137, 137)]:
            self.answers([code], verdict="")
            outcome = self.gate(GITHUB_ACTIONS="true")
            self.assertEqual(outcome.returncode, ends_with, outcome.stderr)
            self.assertFalse((self.folder / "out").exists())
            self.assertEqual(outcome.stderr.count("\n"), 0 if code in (2, 3) else 1)

    def test_slower_by_nobody_knows_how_much_passes_and_says_so(self):
        self.answers([0], "slower", 1.02, stopped_by="budget")
        outcome = self.gate(GITHUB_ACTIONS="true")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertIn("::notice title=assay::slower, and cannot tell within 10m whether by more than the 2%25", outcome.stdout)
        self.answers([0], "slower", 1.005)
        self.assertNotIn("::", self.gate(GITHUB_ACTIONS="true").stdout)

    def test_outside_of_a_workflow_nothing_is_written_but_the_comparison(self):
        self.answers([9], "slower", 1.07)
        outcome = self.run_tool("gate", GATE_BASE="a", GATE_HEAD="b", GATE_PROGRAM=self.program, GITHUB_ACTIONS="")
        self.assertEqual((outcome.returncode, outcome.stdout), (9, ""))

    def test_what_it_lacks_is_said_in_one_line(self):
        for missing, line in [
            ({"GATE_BASE": ""}, "gate: GATE_BASE: is not set"),
            ({"GATE_HEAD": ""}, "gate: GATE_HEAD: is not set"),
            ({"GATE_HEAD": " \n"}, "gate: GATE_HEAD: is not set"),
            ({"GATE_HEAD": " --help"}, "gate: GATE_HEAD: --help: is an option"),
            ({"GATE_HEAD": "# not yet\n\n  # later"}, "gate: GATE_HEAD: is only a comment"),
            ({"GATE_PROGRAM": "/bin/true"}, "gate: /bin/true: ended with 0 and compared nothing"),
            ({"GATE_PROGRAM": "cd"}, "gate: cd: no program that can be run"),
            ({"GATE_PROGRAM": "/nowhere/assay"}, "gate: /nowhere/assay: no program that can be run"),
        ]:
            with self.subTest(line=line):
                asked = {"GATE_BASE": "a", "GATE_HEAD": "b", "GATE_PROGRAM": self.program, **missing}
                outcome = self.run_tool("gate", **asked)
                self.assertEqual(outcome.returncode, 2)
                self.assertEqual(outcome.stderr.count("\n"), 1, outcome.stderr)
                self.assertIn(line, outcome.stderr)

    def test_what_cannot_be_written_is_said_and_does_not_pass(self):
        for code, verdict, ends_with in [(0, "same", 3), (9, "slower", 9)]:
            for place in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
                self.answers([code], verdict)
                outcome = self.gate(**{place: "/nowhere/file"})
                self.assertEqual(outcome.returncode, ends_with)
                self.assertEqual(outcome.stderr, "gate: /nowhere/file: cannot be written\n")

    def test_who_ends_it_ends_the_comparison(self):
        self.program.write_text("#!/bin/sh\ntrap 'echo ended >ended; exit' TERM\n: >begun\nfor i in $(seq 900); do sleep 0.05; done\n")
        environment = os.environ | {"GATE_BASE": "a", "GATE_HEAD": "b", "GATE_PROGRAM": str(self.program)}
        gate = subprocess.Popen([str(ROOT / "tools" / "gate")], env=environment, cwd=self.folder)
        self.addCleanup(gate.wait)
        self.addCleanup(gate.kill)
        until = time.monotonic() + 30
        while not (self.folder / "begun").exists() and gate.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        gate.terminate()
        self.assertEqual(gate.wait(30), 130)
        self.assertEqual((self.folder / "ended").read_text(), "ended\n")

    def test_of_several_lines_each_must_succeed(self):
        self.answers([0])
        self.gate(GATE_BASE="make\n./old x\n", GATE_HEAD="\n ./new x \n")
        asked = (self.folder / "asked").read_text()
        self.assertIn("--interleave set -e\nmake\n./old x ./new x --until-sure", asked)

    def test_commands_are_handed_on_as_they_are(self):
        self.answers([0])
        self.gate(GATE_BUDGET="90s", GATE_ALLOWED="3%")
        asked = (self.folder / "asked").read_text()
        self.assertIn("--interleave old x new 'y z' --until-sure --budget 90s --fail-if-slower 3%", asked)

    def test_error_rates_are_counted_and_judged(self):
        for codes, tries, slowed, passes in [
            ([0] * 3 + [9] * 2, 3, 2, True),
            ([9] + [0] * 49 + [9], 50, 1, True),
            ([9, 9] + [0] * 48 + [9], 50, 1, False),
            ([0] + [9] * 9 + [0], 1, 10, True),
            ([0] + [9] * 8 + [0] * 2, 1, 10, False),
        ]:
            with self.subTest(codes=codes):
                self.answers(codes)
                outcome = self.run_tool(
                    "gate-error-rate", "--tries", tries, "--slowed", slowed, "true", ASSAY=self.program
                )
                self.assertEqual(outcome.returncode == 0, passes, outcome.stdout + outcome.stderr)
                alarms = codes[:tries].count(9)
                self.assertIn(f"{alarms} of {tries} fail", outcome.stdout)

    def test_a_program_that_breaks_is_no_rate(self):
        self.answers([2])
        outcome = self.run_tool("gate-error-rate", "--tries", 1, "--slowed", 0, "true", ASSAY=self.program)
        self.assertEqual(outcome.returncode, 2)

    def test_what_is_slowed_takes_longer_and_ends_as_it_ended(self):
        self.assertEqual(self.run_tool("slowed", "0.05", "exit 7").returncode, 7)
        self.assertEqual(self.run_tool("slowed", "0", "echo 'a  b'").stdout, "a  b\n")


if __name__ == "__main__":
    unittest.main()
