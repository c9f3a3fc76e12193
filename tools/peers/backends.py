"""Each peer at its best honest setting: a function from (name, ids, precision) to (callable, what really ran), or a
Refused with the reason. Nothing here may stand for another precision than it says. One call, one process (worker.py):
no peer's threads or allocator touch another's."""
import copy
import tempfile
from pathlib import Path

import numpy as np
import torch

from ctranslate import ctranslate2
from llama import llama_cpp
from models import build
from refused import Refused

TORCH_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def torch_eager(name, ids, precision):
    torch.set_float32_matmul_precision("highest")
    module = build(name)
    if precision == "int8-dynamic":
        if any(type(m).__name__ == "Conv1D" for m in module.modules()):
            raise Refused("transformers' Conv1D escapes quantize_dynamic")
        quantised = torch.ao.quantization.quantize_dynamic(copy.deepcopy(module), {torch.nn.Linear}, dtype=torch.qint8)
        return lambda: quantised(ids), "dynamic int8 linears"
    if precision not in TORCH_DTYPES:
        raise Refused("no such precision")
    cast = module.to(TORCH_DTYPES[precision])
    return lambda: cast(ids), f"weights {next(cast.parameters()).dtype}"


def torch_compiled(name, ids, precision):
    """With inductor's own C++ code, its weights frozen and packed where it can."""
    if precision not in TORCH_DTYPES:
        raise Refused("no such precision")
    import torch._inductor.config as inductor
    torch.set_float32_matmul_precision("highest")
    inductor.freezing = True
    cast = torch.compile(build(name).to(TORCH_DTYPES[precision]))
    return lambda: cast(ids), f"inductor, frozen weights {TORCH_DTYPES[precision]}"


def export_onnx(module, ids, folder):
    """By TorchScript where that goes, for ONNX Runtime's quantisation infers shapes that the newer export contradicts."""
    path = Path(folder) / "model.onnx"
    names = {"input_names": ["input_ids"], "output_names": ["logits"]}
    try:
        torch.onnx.export(module, (ids,), str(path), dynamo=False, opset_version=17, **names)
        return path, "TorchScript export"
    except Exception:  # whatever the older exporter stumbles over, the newer one may take
        torch.onnx.export(module, (ids,), str(path), dynamo=True, **names)
        return path, "dynamo export"


def optimized_onnx(path, name, how):
    """Fused as ONNX Runtime's own transformers tool does, where it knows the family."""
    from onnxruntime.transformers import optimizer
    family, heads, width = {"distilbert-base": ("bert", 12, 768), "minilm-l6": ("bert", 12, 384),
                            "gpt2": ("gpt2", 12, 768)}.get(name, (None, 0, 0))
    if family is None:
        return path, how
    out = path.with_name("fused.onnx")
    try:
        model = optimizer.optimize_model(str(path), family, num_heads=heads, hidden_size=width, opt_level=0, use_gpu=False)
    except Exception as error:  # the tool knows older graphs: the plain export runs then
        return path, f"{how}, not fused ({type(error).__name__})"
    model.save_model_to_file(str(out), use_external_data_format=True)
    fused = {kind: count for kind, count in model.get_fused_operator_statistics().items() if count}
    return out, how + (", fused " + ", ".join(fused) if fused else "")


def fp16_onnx(path):
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16
    out = path.with_name("fp16.onnx")
    onnx.save(convert_float_to_float16(onnx.load(str(path)), keep_io_types=True), str(out))
    return out


def int8_onnx(path):
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process
    whole, shaped, out = (path.with_name(f"{step}.onnx") for step in ("whole", "shaped", "int8"))
    onnx.save(onnx.load(str(path)), str(whole))  # the newer export keeps its weights in a second file
    quant_pre_process(str(whole), str(shaped), skip_symbolic_shape=True)
    quantize_dynamic(str(shaped), str(out), weight_type=QuantType.QInt8, per_channel=True)
    return out


def matmul_kinds(path):
    import onnx
    wanted = ("MatMul", "Gemm", "MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
    kinds = [node.op_type for node in onnx.load(str(path), load_external_data=False).graph.node]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in wanted if kind in kinds)


def onnxruntime(name, ids, precision):
    import onnxruntime as ort
    if precision == "bf16":
        raise Refused("ONNX Runtime has no bf16 CPU kernels")
    if precision == "int8-static":
        raise Refused("not set up: OpenVINO stands for static int8")
    with tempfile.TemporaryDirectory() as folder:
        path, how = export_onnx(build(name), ids, folder)
        if precision == "fp32":
            path, how = optimized_onnx(path, name, how)
        path = {"fp16": fp16_onnx, "int8-dynamic": int8_onnx}.get(precision, lambda same: same)(path)
        options = ort.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.optimized_model_filepath = str(Path(folder) / "ran.onnx")
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "ran.data")
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        ran = f"{how}; {matmul_kinds(options.optimized_model_filepath)}"
    if precision == "int8-dynamic" and "Integer" not in ran and "Quantize" not in ran:
        raise Refused(f"ONNX Runtime was told int8 and ran {ran}")
    if precision == "fp16":
        ran = "really fp32, weights f16: " + ran
    feed = {"input_ids": ids.numpy()}
    return lambda: session.run(None, feed), ran


def openvino_kinds(compiled):
    """The precisions that OpenVINO's own matrix products ran in, as its runtime model says."""
    kinds = set()
    for operation in compiled.get_runtime_model().get_ordered_ops():
        info = operation.get_rt_info()
        if "layerType" in info and "FullyConnected" in str(info["layerType"].astype(str)):
            kinds.add(info["runtimePrecision"].astype(str))
    return kinds


def openvino(name, ids, precision):
    import openvino as ov
    import openvino.properties.hint as hints
    if precision == "int8-dynamic":
        raise Refused("OpenVINO quantises statically")
    model = ov.convert_model(build(name), example_input=ids, input=[list(ids.shape)])
    hint = {"fp32": ov.Type.f32, "bf16": ov.Type.bf16, "fp16": ov.Type.f16, "int8-static": ov.Type.f32}[precision]
    if precision == "int8-static":
        import nncf
        if "BF16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            hint = ov.Type.bf16
        data = nncf.Dataset([ids], lambda item: item.numpy())
        model = nncf.quantize(model, data, model_type=nncf.ModelType.TRANSFORMER, subset_size=1)
    config = {hints.inference_precision(): hint, hints.performance_mode(): hints.PerformanceMode.LATENCY,
              "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = ov.Core().compile_model(model, "CPU", config)
    kinds = openvino_kinds(compiled)
    wanted = {"fp32": {"f32"}, "bf16": {"bf16"}, "fp16": {"f16"}}.get(precision)
    if wanted is not None and kinds != wanted:
        raise Refused(f"OpenVINO was told {precision} and ran its matmuls in {', '.join(sorted(kinds))}")
    if wanted is None and not kinds & {"u8", "i8"}:
        raise Refused(f"OpenVINO was told int8 and ran its matmuls in {', '.join(sorted(kinds))}")
    request = compiled.create_infer_request()
    feed = [np.ascontiguousarray(ids.numpy())]
    return lambda: request.infer(feed), f"matmuls ran in {', '.join(sorted(kinds))}"


PEERS = {"pytorch": torch_eager, "pytorch-compiled": torch_compiled, "onnxruntime": onnxruntime, "openvino": openvino,
         "ctranslate2": ctranslate2, "llama.cpp": llama_cpp}
