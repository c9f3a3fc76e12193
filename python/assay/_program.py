"""Runs the program: its words in, its bytes, exit code and progress out."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from assay.errors import DefectError, Interrupted, MachineError, UserError, error_of

if TYPE_CHECKING:
    from assay.results import Result

_READ_BYTES = 1 << 16
_LOOK_S = 0.1
"""Between two looks at whether it has ended, on systems that do not tell."""
_GRACE_S = 10
"""Of a program that is ended: what it measures has 2 s of its own."""


@dataclass(frozen=True)
class Progress:
    """What the program does now, or a sentence that it says on its way."""

    text: str
    seconds_left: float | None = None
    """None where nobody knows."""
    is_remark: bool = False
    """Whether it is a sentence that stays, as a warning, and no step."""


ProgressCallback = Callable[[Progress], None]


@dataclass
class Ended:
    """A run of the program."""

    words: list[str]
    exit_code: int
    out: bytes
    err: str
    was_interrupted: bool = False
    """Whether this process passed a Ctrl-C on."""

    @property
    def message(self) -> str:
        """Its last line on standard error, without the program's name."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1].removeprefix("assay: ") if lines else f"ended with {self.exit_code} and without a word"


def check_ended(ended: Ended, result: Result | None = None) -> None:
    """Raises the exception that the exit code means, with what was found until then."""
    if ended.exit_code == Interrupted.exit_code or (ended.was_interrupted and ended.exit_code != 0):
        raise Interrupted(ended.message if ended.err.strip() else "interrupted", result)
    if ended.exit_code < 0:
        raise DefectError(f"signal {-ended.exit_code} ended it", result)
    failure = error_of(ended.exit_code)
    if failure is not None:
        raise failure(ended.message, result)


def find_program() -> Path:
    """$ASSAY_BINARY, else the program inside the installed package, else the one built in this source tree."""
    named = os.environ.get("ASSAY_BINARY")
    here = Path(__file__).resolve().parent
    candidates = [Path(named)] if named else [here / "bin" / "assay", here.parents[1] / "build" / "release" / "assay"]
    for one in candidates:
        if one.is_file() and os.access(one, os.X_OK):
            return one.resolve()
    if named:
        raise MachineError(f"ASSAY_BINARY {named}: no program that can be run")
    raise MachineError("the program is neither in the package nor built beside it; ASSAY_BINARY names one elsewhere")


def _parse_progress(line: bytes) -> Progress | None:
    try:
        told = json.loads(line)
        if "said" in told:
            return Progress(told["said"], is_remark=True)
        return Progress(told["doing"], told.get("seconds_left"))
    except (ValueError, KeyError, TypeError):
        return None  # Nothing hangs on it.


class _Listener:
    """The pipe of ASSAY_PROGRESS_FD, cut into lines."""

    def __init__(self, callback: ProgressCallback | None):
        self.callback = callback
        self.rest = b""
        try:
            self.read_end, self.write_end = os.pipe()
        except OSError as fault:
            raise MachineError(f"a pipe for progress: {fault.strerror}") from fault

    def environment(self) -> dict[str, str]:
        inode = os.fstat(self.write_end).st_ino
        return {"ASSAY_PROGRESS_FD": str(self.write_end), "ASSAY_PROGRESS_INODE": str(inode)}

    def take(self, piece: bytes) -> None:
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            told = _parse_progress(line)
            if told is not None and self.callback is not None:
                self.callback(told)


def _start(words: Sequence[str], listener: _Listener, stdin: bytes) -> subprocess.Popen[bytes]:
    program = str(find_program())
    try:
        return subprocess.Popen(
            [program, *words],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[listener.write_end],
            env={**os.environ, **listener.environment()},
            start_new_session=True,
        )
    except OSError as fault:
        kind = UserError if fault.errno == errno.E2BIG else MachineError
        raise kind(f"{program}: cannot be run with {len(words)} words: {fault.strerror}") from fault


def run_program(words: Sequence[str], callback: ProgressCallback | None = None, stdin: bytes = b"") -> Ended:
    """Runs it to its end. The program has a process group of its own: a Ctrl-C here, whoever else got it, is passed on
    once, ends its work in good order, and what it then writes is read as usual; a second Ctrl-C ends it at once. An
    exception of the callback ends it, too, and is raised. Where this process is killed, the program ends by itself."""
    with contextlib.ExitStack() as opened:
        listener = _Listener(callback)
        told = opened.enter_context(open(listener.read_end, "rb", buffering=0))
        try:
            child = _start(words, listener, stdin)
        finally:
            os.close(listener.write_end)
        opened.enter_context(child)
        try:
            return _attend(child, list(words), listener, told, stdin)
        except BaseException:
            _end(child)
            raise


@contextlib.contextmanager
def _end_of(child: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """A descriptor that tells of its end; None where the system has none."""
    try:
        descriptor = os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _attend(child: subprocess.Popen[bytes], words: list[str], listener: _Listener, told: IO[bytes], stdin: bytes) -> Ended:
    out: list[bytes] = []
    err: list[bytes] = []
    assert child.stdout is not None and child.stderr is not None
    takers = {child.stdout: out.append, child.stderr: err.append, told: listener.take}
    interrupts = 0
    with selectors.DefaultSelector() as open_pipes, _end_of(child) as end:
        for stream, take in takers.items():
            open_pipes.register(stream, selectors.EVENT_READ, take)
        if stdin:
            assert child.stdin is not None
            os.set_blocking(child.stdin.fileno(), False)
            open_pipes.register(child.stdin, selectors.EVENT_WRITE)
        if end is not None:
            open_pipes.register(end, selectors.EVENT_READ)
        while True:
            try:
                if child.poll() is not None:
                    break
                stdin = _pass_on(child, open_pipes, stdin, None if end is not None else _LOOK_S)
            except KeyboardInterrupt:
                interrupts += 1
                child.send_signal(signal.SIGINT if interrupts == 1 else signal.SIGKILL)
        for key in list(open_pipes.get_map().values()):
            if key.data is not None:
                _read_rest(key.fd, key.data)
    return Ended(words, child.returncode, b"".join(out), b"".join(err).decode("utf-8", "replace"), interrupts > 0)


def _read_rest(pipe: int, take: Callable[[bytes], None]) -> None:
    """What is there now. What the program started may live on, hold its pipes open and write there: nobody waits for
    that."""
    waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    if waiting:
        take(os.read(pipe, waiting))


def _end(child: subprocess.Popen[bytes]) -> None:
    """In good order, with what it measures; nobody reads on."""
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        try:
            child.wait(_GRACE_S)
        finally:
            child.kill()


def _pass_on(
    child: subprocess.Popen[bytes], open_pipes: selectors.BaseSelector, stdin: bytes, most_s: float | None
) -> bytes:
    """Waits for something to read or to write, and does it; what is left to write."""
    for key, _ in open_pipes.select(most_s):
        if key.fileobj is child.stdin:
            stdin = _feed(child, open_pipes, stdin)
        elif key.data is not None:
            _take_piece(open_pipes, key)
    return stdin


def _take_piece(open_pipes: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    piece = os.read(key.fd, _READ_BYTES)
    if piece:
        key.data(piece)
    else:
        open_pipes.unregister(key.fileobj)


def _feed(child: subprocess.Popen[bytes], open_pipes: selectors.BaseSelector, stdin: bytes) -> bytes:
    assert child.stdin is not None
    try:
        stdin = stdin[os.write(child.stdin.fileno(), stdin[:_READ_BYTES]) :]
    except BrokenPipeError:
        stdin = b""  # It has what it wants.
    if not stdin:
        open_pipes.unregister(child.stdin)
        child.stdin.close()
    return stdin
