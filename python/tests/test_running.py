"""How a command runs and ends, with a program that does what it is told."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from pathlib import Path

from common import TESTS, WithFakeProgram, assay


class Endings(WithFakeProgram):
    def test_each_exit_code_is_an_exception_with_the_line_as_its_message(self):
        for code, kind in [(2, assay.UserError), (3, assay.MachineError), (70, assay.DefectError)]:
            with self.subTest(code=code), self.assertRaises(kind) as caught:
                assay.bench("fail", code, "gpt3")
            self.assertEqual(str(caught.exception), "gpt3: is wrong")
            self.assertEqual(caught.exception.exit_code, code)
            self.assertIsInstance(caught.exception, assay.AssayError)

    def test_what_was_written_all_the_same_is_in_the_exception(self):
        with self.assertRaises(assay.MachineError) as caught:
            assay.bench("answer-and-fail")
        self.assertEqual(caught.exception.result.records[0].status, "unsupported")

    def test_a_program_that_a_signal_ends_is_a_defect(self):
        with self.assertRaisesRegex(assay.DefectError, "signal 9"):
            assay.bench("die")

    def test_text_that_is_no_json_is_a_defect(self):
        with self.assertRaises(assay.DefectError):
            assay.bench("garbage")
        with self.assertRaises(assay.DefectError):
            assay.bench("code", 5)
        self.assertIn("--json FILE", assay.bench("--help").text)

    def test_codes_that_say_something_of_a_result_are_no_errors(self):
        for code in (9, 10):
            self.assertEqual(assay.bench("code", code).exit_code, code)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(assay.bench("code", 4).exit_code, 4)
        self.assertIs(caught[0].category, assay.UnsavedWarning)

    def test_what_it_leaves_running_is_not_waited_for(self):
        begin = time.monotonic()
        self.assertEqual(assay.bench("leave")["words"], ["bench", "leave", "--json=-"])
        self.assertLess(time.monotonic() - begin, 20)

    def test_help_that_fails_is_an_error_and_no_empty_text(self):
        with self.assertRaisesRegex(assay.MachineError, "no libraries"):
            assay.help_of("ill")
        with self.assertRaisesRegex(assay.DefectError, "says nothing"):
            assay.help_of("mute")

    def test_a_missing_program_says_so(self):
        os.environ["ASSAY_BINARY"] = "/nowhere/assay"
        with self.assertRaisesRegex(assay.MachineError, "/nowhere/assay"):
            assay.bench()
        self.assertFalse(hasattr(assay, "new_one"))
        with self.assertRaisesRegex(AttributeError, "/nowhere/assay"):
            assay.new_one()

    def test_what_cannot_be_asked_is_the_users_mistake_and_starts_nothing(self):
        for ask, fault in [
            (lambda: assay.run(None), "None: is no command"),
            (lambda: assay.run("mem\0ory"), "zero byte"),
            (lambda: assay.bench(progress="loud"), "progress: 'loud'"),
            (lambda: assay.bench("m" * 200_000), "cannot be run with 3 words"),
            (lambda: assay.run("bench", stdin=5), "stdin: 5 is neither"),
            (lambda: assay.run("bench", stdin="\ud800"), "stdin: .*surrogates"),
        ]:
            with self.subTest(fault=fault), self.assertRaisesRegex(assay.UserError, fault):
                ask()

    def test_a_program_that_writes_much_on_both_streams_is_read_to_its_end(self):
        result = assay.bench("babble")
        self.assertEqual(len(result["blob"]), 3_000_000)
        self.assertEqual(len(result.remarks[0]), 3_000_000)


class Arguments(WithFakeProgram):
    def test_options_go_on_as_they_are(self):
        result = assay.bench("gpt2", precision=["fp32", "int8"], batch=[1, 8], no_such_option_yet=True)
        expected = ["bench", "gpt2", "--precision=fp32,int8", "--batch=1,8", "--no-such-option-yet", "--json=-"]
        self.assertEqual(result["words"], expected)

    def test_a_command_that_this_module_does_not_know_is_a_function_too(self):
        self.assertEqual(assay.new_one("x", y=1)["words"], ["new-one", "x", "-y", "1", "--json=-"])
        with self.assertRaises(AttributeError):
            assay.no_such_command

    def test_a_command_without_json_gives_its_text(self):
        self.assertEqual(assay.silent("a").text, "silent a\n")

    def test_words_behind_the_dashes_stay_there(self):
        words = assay.run("bench", rounds=2, behind=["python3", "-c", "pass"])["words"]
        self.assertEqual(words, ["bench", "--rounds=2", "--json=-", "--", "python3", "-c", "pass"])
        for whole in ["sleep 1", Path("sleep 1")]:
            self.assertEqual(assay.run("bench", behind=whole)["words"][-2:], ["--", "sleep 1"])
        self.assertEqual(assay.run("bench", behind=None)["words"], ["bench", "--json=-"])

    def test_json_is_what_is_returned(self):
        with self.assertRaises(assay.UserError):
            assay.bench(json="out.json")

    def test_standard_input_is_passed_on_whole(self):
        self.assertEqual(assay.bench("echo", stdin="z" * 1_000_000)["read"], "z" * 1_000_000)
        self.assertEqual(assay.bench("echo")["read"], "")


class ProgressLines(WithFakeProgram):
    def test_each_line_calls_back_in_order_and_in_this_thread(self):
        told = []
        assay.bench("tell", progress=lambda one: told.append((one, threading.current_thread())))
        self.assertEqual([one.text for one, _ in told], ["first", "a warning", "last"])
        self.assertEqual([one.seconds_left for one, _ in told], [2.0, None, None])
        self.assertEqual([one.is_remark for one, _ in told], [False, True, False])
        self.assertTrue(all(thread is threading.current_thread() for _, thread in told))

    def test_an_exception_of_the_callback_ends_the_program(self):
        def refuse(_):
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            assay.bench("wait", progress=refuse)


def interrupt_this_process(_):
    """As a terminal does, once the program runs."""
    os.kill(os.getpid(), signal.SIGINT)


class Interrupts(WithFakeProgram):
    def test_ctrl_c_returns_what_was_measured(self):
        with self.assertRaises(KeyboardInterrupt) as caught:
            assay.bench("wait", progress=interrupt_this_process)
        self.assertIsInstance(caught.exception, assay.Interrupted)
        self.assertEqual(caught.exception.result.records[0].model, "half")
        self.assertTrue(caught.exception.result.is_partial)

    def test_what_was_torn_apart_is_no_result(self):
        with self.assertRaises(assay.Interrupted) as caught:
            assay.bench("wait", "torn", progress=interrupt_this_process)
        self.assertIsNone(caught.exception.result)

    def test_the_program_gets_it_once_though_a_terminal_sends_it_to_the_whole_group(self):
        code = (
            "import assay, os, sys\n"
            "try: assay.bench('wait', progress=lambda _: print('ready', flush=True))\n"
            "except assay.Interrupted as e: print(e.result.records[0].model, flush=True)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(out, "half\n")


if __name__ == "__main__":
    unittest.main()
