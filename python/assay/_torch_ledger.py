"""Runs a torch.nn.Module under torch.profiler, with the logs of the libraries that multiply for it."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from assay._torch_words import Call, Visit, rows_of
from assay.errors import MachineError
from assay.records import LedgerInput, LedgerRow

_MARK = "assay ledger "
_PRECISIONS = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "s8": "int8", "u8": "int8", "e4m3": "fp8", "f64": "fp64"}


def _import_torch() -> Any:
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
        import torch.profiler  # type: ignore[import-not-found, unused-ignore]
    except ImportError as missing:
        raise MachineError(f"Ledger.of_torch needs PyTorch: {missing}") from missing
    return torch


def _cpu_flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("flags"):
                    return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return frozenset()


class _Log:
    """Standard output, where C libraries log, in a file of its own while the module runs."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()
        self.read_to = 0
        self.libc = ctypes.CDLL(None)

    def new_lines(self) -> list[str]:
        self.libc.fflush(None)
        self.file.seek(self.read_to)
        text = self.file.read()
        self.read_to += len(text)
        return text.decode("utf-8", "replace").splitlines()

    @contextmanager
    def taking_stdout(self) -> Iterator[None]:
        """What the module itself prints is handed on afterwards."""
        sys.stdout.flush()
        self.libc.fflush(None)
        kept = os.dup(1)
        os.dup2(self.file.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            self.libc.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)


class _Visits:
    """Marks each call of a module for the profiler, and gives the lines that were logged meanwhile to who ran."""

    def __init__(self, torch: Any, module: Any, log: _Log):
        self.torch = torch
        self.log = log
        self.paths = {one: path for path, one in module.named_modules()}
        self.visits: list[Visit] = []
        self.open: list[tuple[int, Any]] = []
        self.printed: list[str] = []
        self.cpu_flags = _cpu_flags()

    def take_lines(self) -> None:
        lines = self.log.new_lines()
        is_log = [line.startswith(("onednn_verbose", "dnnl_verbose", "MKL_VERBOSE")) for line in lines]
        self.printed += [line for line, logged in zip(lines, is_log) if not logged]
        if self.open:
            self.visits[self.open[-1][0]].log += [line for line, logged in zip(lines, is_log) if logged]

    def enter(self, module: Any, _inputs: Any) -> None:
        self.take_lines()
        mark = self.torch.profiler.record_function(f"{_MARK}{len(self.visits)}")
        mark.__enter__()
        self.open.append((len(self.visits), mark))
        device = _device_of(module, self.visits[0].device if self.visits else "cpu")
        self.visits.append(
            Visit(
                self.paths.get(module, ""),
                _requested(self.torch, module, device, self.visits[0].requested if self.visits else "fp32"),
                device=device,
                allows_tf32=bool(self.torch.backends.cuda.matmul.allow_tf32),
                cpu_flags=self.cpu_flags,
                quantized_engine=str(self.torch.backends.quantized.engine),
            )
        )

    def leave(self, _module: Any, _inputs: Any, _output: Any) -> None:
        self.take_lines()
        self.open.pop()[1].__exit__(None, None, None)


def _device_of(module: Any, otherwise: str) -> str:
    for one in module.parameters():
        return str(one.device.type)
    return otherwise


def _requested(torch: Any, module: Any, device: str, otherwise: str) -> str:
    """The precision by the weights' type; under autocast the mixed one."""
    if "quantized" in type(module).__module__:
        return "int8"
    held = next((one.dtype for one in module.parameters() if one.dtype.is_floating_point), None)
    precision = otherwise if held is None else _PRECISIONS.get(_torch_dtype(held), str(held))
    if precision == "fp32" and torch.is_autocast_enabled(device):
        return f"mixed-{_PRECISIONS.get(_torch_dtype(torch.get_autocast_dtype(device)), 'fp16')}"
    return precision


_TORCH_NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "s8", "uint8": "u8",
                "int32": "s32", "int64": "s64", "float8_e4m3fn": "e4m3", "bool": "bool"}  # fmt: skip


def _torch_dtype(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return _TORCH_NAMES.get(name, name)


@contextmanager
def _library_logs(torch: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for library in ("mkldnn", "mkl"):
            backend = getattr(torch.backends, library)
            if backend.is_available() and hasattr(backend, "verbose"):
                stack.enter_context(backend.verbose(backend.VERBOSE_ON))
        yield


def _calls_of(events: Any, visits: list[Visit]) -> None:
    """Gives each visit the operators that it called itself. Events of a thread nest by their times; a GPU's kernels
    name the operator that queued them by its correlation."""
    is_cpu = [str(one.device_type()).endswith("CPU") for one in events]
    by_correlation: dict[int, Call] = {}
    stack: list[tuple[int, int, Call | Visit]] = []
    own = [one for one, here in zip(events, is_cpu) if here]
    for event in sorted(own, key=lambda one: (one.start_thread_id(), one.start_ns(), -one.duration_ns())):
        thread, start, end = event.start_thread_id(), event.start_ns(), event.start_ns() + event.duration_ns()
        while stack and (stack[-1][0] != thread or stack[-1][1] <= start):
            stack.pop()
        name = event.name()
        if name.startswith(_MARK):
            stack.append((thread, end, visits[int(name[len(_MARK) :])]))
            continue
        call = Call(name, list(event.dtypes()), float(event.flops()))
        by_correlation[event.correlation_id()] = call
        if stack:
            stack[-1][2].calls.append(call)
        stack.append((thread, end, call))
    for event, here in zip(events, is_cpu):
        if not here and event.linked_correlation_id() in by_correlation:
            by_correlation[event.linked_correlation_id()].kernels.append(event.name())


def _inputs_of(torch: Any, arguments: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[LedgerInput]:
    named = {**{str(at): one for at, one in enumerate(arguments)}, **kwargs}
    return [
        LedgerInput(name=name, dtype=_torch_dtype(one.dtype), device=one.device.type)
        for name, one in named.items()
        if isinstance(one, torch.Tensor)
    ]


def _run_profiled(torch: Any, module: Any, arguments: tuple[Any, ...], kwargs: Mapping[str, Any], visits: _Visits) -> Any:
    activity = torch.profiler.ProfilerActivity
    activities = [activity.CPU] + ([activity.CUDA] if torch.cuda.is_available() else [])
    handles = []
    for one in visits.paths:
        handles.append(one.register_forward_pre_hook(visits.enter))
        handles.append(one.register_forward_hook(visits.leave, always_call=True))
    try:
        with torch.profiler.profile(activities=activities, record_shapes=True, with_flops=True) as profile:
            module(*arguments, **kwargs)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    finally:
        for handle in handles:
            handle.remove()
    return profile.profiler.kineto_results.events()


def ledger_of_torch(
    module: Any, arguments: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[LedgerRow], list[LedgerInput]]:
    """Rows in the order in which modules were called, and the inputs. Raises MachineError where there is no torch."""
    torch = _import_torch()
    log = _Log()
    visits = _Visits(torch, module, log)
    with log.file:
        try:
            with log.taking_stdout(), _library_logs(torch):
                events = _run_profiled(torch, module, arguments, kwargs, visits)
        finally:
            visits.take_lines()
            for line in visits.printed:
                print(line)
    _calls_of(events, visits.visits)
    return [row for visit in visits.visits for row in rows_of(visit)], _inputs_of(torch, arguments, kwargs)
