"""What PyTorch's profiler and its libraries' logs say, in the words of our ledger. Needs no torch: texts in, rows
out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.records import LedgerRow


@dataclass
class Call:
    """An operator as the profiler saw it, with those that it called."""

    name: str
    dtypes: list[str] = field(default_factory=list)
    """Of its inputs, as the profiler calls them: "float", "c10::BFloat16"; "" of what is no tensor."""
    flops: float = 0
    kernels: list[str] = field(default_factory=list)
    """Kernels that it queued on a GPU itself."""
    calls: list[Call] = field(default_factory=list)

    def all_kernels(self) -> list[str]:
        return self.kernels + [name for one in self.calls for name in one.all_kernels()]

    def all_flops(self) -> float:
        return self.flops or sum(one.all_flops() for one in self.calls)


@dataclass
class Visit:
    """One call of a module: the operators that it called itself, and what libraries logged meanwhile."""

    path: str
    requested: str
    calls: list[Call] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    device: str = "cpu"
    allows_tf32: bool = False
    cpu_flags: frozenset[str] = frozenset()
    quantized_engine: str = ""
    """torch.backends.quantized.engine."""


Verdict = Literal["native", "widened", "emulated"]


@dataclass(frozen=True)
class Ran:
    """In which kernel, multiplying and adding what, and how that is known."""

    kernel: str
    operand: str
    verdict: Verdict
    evidence: str
    accumulator: str = "f32"


_DTYPES = {
    "float": "f32", "double": "f64", "c10::BFloat16": "bf16", "c10::Half": "f16", "c10::Float8_e4m3fn": "e4m3",
    "c10::Float8_e5m2": "e5m2", "signed char": "s8", "unsigned char": "u8", "int": "s32", "long": "s64",
    "long int": "s64", "bool": "bool", "c10::qint8": "s8", "c10::quint8": "u8",
}  # fmt: skip
_SHORT = ("bf16", "f16")

# Of views and the like: no arithmetic, so no row.
_LAYOUT = frozenset(
    "view reshape _reshape_alias _unsafe_view transpose permute t expand expand_as slice select as_strided squeeze "
    "unsqueeze flatten unflatten split chunk unbind narrow contiguous detach alias lift_fresh resize_ empty "
    "empty_strided empty_like empty_permuted zeros zeros_like ones ones_like full arange item _local_scalar_dense "
    "is_nonzero size numel dim result_type can_cast broadcast_tensors resolve_conj resolve_neg detach_ zero_ fill_ set_ "
    "lift scalar_tensor stride movedim swapaxes mT T numpy_T".split()
)
_IDLE_WITHOUT_CALLS = ("to", "dropout")
_PRODUCTS = {
    "linear": "linear", "addmm": "linear", "mm": "linear", "matmul": "matmul", "bmm": "matmul", "baddbmm": "matmul",
    "einsum": "matmul", "_int_mm": "linear", "_scaled_mm": "linear", "mkldnn_linear": "linear", "addmv": "linear",
    "mv": "linear", "dot": "linear", "bilinear": "linear", "conv1d": "convolution", "conv2d": "convolution",
    "conv3d": "convolution", "convolution": "convolution", "_convolution": "convolution",
    "mkldnn_convolution": "convolution", "scaled_dot_product_attention": "attention",
    "_scaled_dot_product_flash_attention_for_cpu": "attention", "_scaled_dot_product_flash_attention": "attention",
    "_scaled_dot_product_efficient_attention": "attention", "_scaled_dot_product_cudnn_attention": "attention",
    "_native_multi_head_attention": "attention", "linear_dynamic": "linear", "linear_relu": "linear",
    "linear_relu_dynamic": "linear", "lstm": "lstm", "gru": "gru",
}  # fmt: skip
_OTHERS = {
    "layer_norm": "layer_norm", "native_layer_norm": "layer_norm", "rms_norm": "rms_norm", "_fused_rms_norm": "rms_norm",
    "softmax": "softmax", "_softmax": "softmax", "embedding": "embedding", "index_select": "select",
    "gelu": "activation", "relu": "activation", "relu_": "activation", "silu": "activation", "silu_": "activation",
    "tanh": "activation", "sigmoid": "activation", "add": "add", "add_": "add", "mul": "multiply", "mul_": "multiply",
    "dropout": "dropout", "to": "cast", "_to_copy": "cast", "copy_": "cast", "cross_entropy_loss": "cross_entropy",
}  # fmt: skip
_MOVES = frozenset("embedding cast select cat stack index gather scatter roll repeat index_put_ clone".split())
_ROLES = {"layer_norm": "norm", "rms_norm": "norm", "softmax": "softmax", "embedding": "embedding",
          "attention": "attention", "cross_entropy": "loss"}  # fmt: skip
_ROLE_PARTS = (("attention", ("attn", "attention")), ("mlp", ("mlp", "ffn", "feed_forward", "intermediate")),
               ("head", ("lm_head", "head", "classifier", "score")))  # fmt: skip

# Instruction sets in names of oneDNN's implementations that multiply such operands themselves.
_ONEDNN_NATIVE = {
    "bf16": ("amx", "avx512_core_bf16", "avx512_core_fp16", "avx10", "avx2_vnni_2"),
    "f16": ("amx_fp16", "avx512_core_fp16", "avx10"),
}
_MKL_PRODUCTS = {"SGEMM": "f32", "DGEMM": "f64", "GEMM_BF16BF16F32": "bf16", "GEMM_F16F16F32": "f16", "HGEMM": "f16"}
_MKL_NEEDS = {"bf16": ("avx512_bf16", "amx_bf16"), "f16": ("avx512_fp16", "amx_fp16")}

# What names of cuBLAS, CUTLASS and cuDNN kernels say of their operands, the first that fits.
_CUDA_OPERANDS = (
    (re.compile(r"tf32|s1688gemm(?!_(f|fp|bf)16)"), "tf32"),
    (re.compile(r"e4m3|fp8|_f8"), "e4m3"),
    (re.compile(r"i8816|i16832|imma|s8_|_s8|int8"), "s8"),
    (re.compile(r"bf16|bfloat16"), "bf16"),
    (re.compile(r"f16|fp16|half|h884|h1688|hgemm|h16816"), "f16"),
    (re.compile(r"dgemm|d884|f64"), "f64"),
    (re.compile(r"sgemm|f32f32|simt"), "f32"),
)
_CUDA_F16_SUMS = re.compile(r"h884gemm|h1688gemm|h16816gemm|hgemm")


def base_name(operator: str) -> str:
    """ "aten::linear" -> "linear"."""
    return operator.rpartition("::")[2]


def dtype_name(profiled: str) -> str:
    """As our tables name it; "" of what is no tensor."""
    return _DTYPES.get(profiled, "")


def first_dtype(call: Call) -> str:
    """Of the first floating input, else of the first tensor."""
    names = [dtype_name(one) for one in call.dtypes]
    floating = [one for one in names if one.startswith(("f", "bf", "e4", "e5"))]
    return (floating or [one for one in names if one] or [""])[0]


def has_row(call: Call) -> bool:
    """Whether it computes: views do not, nor what found nothing to do, as a cast to the same type."""
    name = base_name(call.name)
    if name in _LAYOUT or "::" not in call.name:
        return False
    return name not in _IDLE_WITHOUT_CALLS or bool(call.calls)


def is_product(call: Call) -> bool:
    return base_name(call.name) in _PRODUCTS


def innermost_product(call: Call) -> Call:
    """Whose operands are multiplied: under autocast the outer one's are those before the cast."""
    for one in call.calls:
        if is_product(one):
            return innermost_product(one)
    return call


def operation_of(call: Call) -> str:
    name = base_name(call.name)
    return _PRODUCTS.get(name) or _OTHERS.get(name) or name


def role_of(path: str, operation: str) -> str:
    if operation in _ROLES:
        return _ROLES[operation]
    parts = path.lower().split(".")
    for role, marks in _ROLE_PARTS:
        if any(mark in part for part in parts for mark in marks):
            return role
    return "other"


# ---- what libraries log ----


def _sums_of(operand: str) -> str:
    return "s32" if operand in ("s8", "u8") else "f64" if operand == "f64" else "f32"


def ran_by_onednn(line: str) -> Ran | None:
    """Of a line that ONEDNN_VERBOSE=1 gives for a product, as
    `onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_amx,undef,src:bf16::blocked:ab::f0 wei:...`"""
    parts = line.strip().split(",")
    if not line.startswith(("onednn_verbose", "dnnl_verbose")) or "exec" not in parts:
        return None
    at = parts.index("exec")
    if len(parts) <= at + 5 or parts[at + 2] not in ("matmul", "inner_product", "convolution", "rnn"):
        return None
    kernel = parts[at + 3]
    found = re.search(r"wei[a-z_]*[:_]([a-z0-9]+)", line) or re.search(r"src[a-z_]*[:_]([a-z0-9]+)", line)
    operand = found[1] if found else ""
    mode = re.search(r"attr-fpmath:([a-z0-9]+)", line)
    if operand == "f32" and mode and mode[1] in ("bf16", "f16", "tf32"):
        return Ran(f"oneDNN {kernel}", mode[1], "native", f"oneDNN's log: fpmath {mode[1]} of f32 tensors", "f32")
    return Ran(f"oneDNN {kernel}", operand, _onednn_verdict(kernel, operand), "oneDNN's log", _sums_of(operand))


def _onednn_verdict(kernel: str, operand: str) -> Verdict:
    if kernel.startswith("ref") or ":ref" in kernel:
        return "emulated"
    needed = _ONEDNN_NATIVE.get(operand)
    return "native" if needed is None or any(one in kernel for one in needed) else "emulated"


def ran_by_mkl(line: str, cpu_flags: frozenset[str] = frozenset()) -> Ran | None:
    """Of a line that MKL_VERBOSE=1 gives: `MKL_VERBOSE SGEMM(T,N,...) 1.2ms ...`"""
    found = re.match(r"MKL_VERBOSE (?:cblas_)?([A-Za-z0-9_]+)\(", line)
    if not found:
        return None
    name = found[1].upper()
    for product, operand in _MKL_PRODUCTS.items():
        if not name.startswith(product):
            continue
        needed = _MKL_NEEDS.get(operand)
        is_native = needed is None or any(one in cpu_flags for one in needed)
        verdict: Verdict = "native" if is_native else "emulated"
        return Ran(f"MKL {found[1].lower()}", operand, verdict, "MKL's log", _sums_of(operand))
    return None


def ran_by_cuda(kernels: Sequence[str], tensors: str, allows_tf32: bool) -> Ran | None:
    """By the names of the kernels: the first one that names its operands."""
    for kernel in kernels:
        for pattern, operand in _CUDA_OPERANDS:
            if pattern.search(kernel.lower()):
                sums = "f16" if _CUDA_F16_SUMS.search(kernel.lower()) else _sums_of(operand)
                return Ran(kernel, operand, "native", "the kernel's name", sums)
    if not kernels:
        return None
    doubt = "; tf32 is allowed, and the name does not tell" if allows_tf32 and tensors == "f32" else ""
    return Ran(kernels[0], tensors, "native", f"the tensors' type{doubt}", _sums_of(tensors))


def _ran_quantized(engine: str) -> Ran:
    """Operators of `quantized::`: every engine multiplies 8-bit integers and adds in s32."""
    return Ran(engine or "quantized engine", "s8", "native", "torch.backends.quantized.engine", "s32")


def _ran_here(operation: str, tensors: str) -> Ran:
    """No library said a word: PyTorch's own loops, whose arithmetic in 16 bits is f32 (its `opmath`)."""
    if operation in _MOVES:
        return Ran("PyTorch's own loops", tensors, "native", "it moves values", tensors)
    if tensors in _SHORT:
        return Ran("PyTorch's own loops", "f32", "widened", "no library's log names it; its own loops compute in f32")
    return Ran("PyTorch's own loops", tensors, "native", "no library's log names it", _sums_of(tensors))


# ---- rows ----


def _row(visit: Visit, call: Call, ran: Ran) -> LedgerRow:
    operation = operation_of(call)
    stored = first_dtype(call)
    return LedgerRow(
        path=visit.path, operation=operation, role=role_of(visit.path, operation), requested=visit.requested,
        kernel=f"{call.name}: {ran.kernel}", operand=ran.operand or stored, accumulator=ran.accumulator, stored=stored,
        verdict=ran.verdict, evidence=ran.evidence, device=visit.device, flops=float(call.all_flops()),
    )  # fmt: skip


def _logged(visit: Visit) -> list[Ran]:
    found = [ran_by_onednn(line) or ran_by_mkl(line, visit.cpu_flags) for line in visit.log]
    return [one for one in found if one is not None]


def _of_several(rans: Sequence[Ran]) -> Ran:
    """Of a call for which libraries logged several products: the kernels; of operands the one that says most against
    what was asked, since a call is as good as its worst part."""
    worst = max(rans, key=lambda one: ("native", "slow", "widened", "emulated").index(one.verdict))
    kernels = ", ".join(dict.fromkeys(one.kernel for one in rans))
    return Ran(kernels, worst.operand, worst.verdict, worst.evidence, worst.accumulator)


def rows_of(visit: Visit) -> list[LedgerRow]:
    """A row for each call that computes. Lines of a log belong to the products of the visit in their order, where there
    are as many of them; else all to each."""
    calls = [one for one in visit.calls if has_row(one)]
    products = [one for one in calls if is_product(one)]
    logged = _logged(visit)
    is_one_each = len(logged) == len(products)
    rows = []
    for call in calls:
        inner = innermost_product(call)
        ran = None
        if call.name.startswith("quantized::") and is_product(call):
            ran = _ran_quantized(visit.quantized_engine)
        elif visit.device != "cpu":
            ran = ran_by_cuda(call.all_kernels(), first_dtype(inner), visit.allows_tf32) if is_product(call) else None
        elif is_product(call) and logged:
            ran = logged[products.index(call)] if is_one_each else _of_several(logged)
        rows.append(_row(visit, call, ran or _ran_here(operation_of(call), first_dtype(inner))))
    return rows
