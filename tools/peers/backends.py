"""Each peer at its best honest setting: a function from (module, ids, precision) to (callable, what really ran), or a
Refused with the reason. Nothing here may stand for another precision than it says."""
import copy
import tempfile
from pathlib import Path

import torch


class Refused(Exception):
    pass


TORCH_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def torch_eager(module, ids, precision):
    torch.set_float32_matmul_precision("highest")
    if precision == "int8-dynamic":
        if any(type(m).__name__ == "Conv1D" for m in module.modules()):
            raise Refused("transformers' Conv1D escapes quantize_dynamic")
        quantised = torch.ao.quantization.quantize_dynamic(copy.deepcopy(module), {torch.nn.Linear}, dtype=torch.qint8)
        return lambda: quantised(ids), "dynamic int8 linears"
    if precision not in TORCH_DTYPES:
        raise Refused("no such precision")
    cast = copy.deepcopy(module).to(TORCH_DTYPES[precision])
    return lambda: cast(ids), f"weights {next(cast.parameters()).dtype}"


def torch_compiled(module, ids, precision):
    if precision not in TORCH_DTYPES:
        raise Refused("no such precision")
    torch.set_float32_matmul_precision("highest")
    cast = torch.compile(copy.deepcopy(module).to(TORCH_DTYPES[precision]))
    return lambda: cast(ids), f"inductor, weights {TORCH_DTYPES[precision]}"


def export_onnx(module, ids, folder):
    path = Path(folder) / "model.onnx"
    torch.onnx.export(module, (ids,), str(path), input_names=["input_ids"], output_names=["logits"], dynamo=True)
    return path


def onnxruntime(module, ids, precision):
    import onnxruntime as ort
    from onnxruntime.quantization import QuantType, quantize_dynamic
    if precision == "bf16":
        raise Refused("ONNX Runtime has no bf16 CPU kernels")
    if precision == "fp16":
        raise Refused("ONNX Runtime's CPU provider computes fp16 models in fp32")
    if precision == "int8-static":
        raise Refused("not set up")
    folder = tempfile.mkdtemp()
    path = export_onnx(module, ids, folder)
    if precision == "int8-dynamic":
        quantised = Path(folder) / "int8.onnx"
        quantize_dynamic(str(path), str(quantised), weight_type=QuantType.QInt8, per_channel=True)
        path = quantised
    options = ort.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids.numpy()}
    return lambda: session.run(None, feed), precision


def openvino(module, ids, precision):
    import openvino as ov
    import openvino.properties.hint as hints
    if precision == "int8-dynamic":
        raise Refused("OpenVINO quantises statically")
    model = ov.convert_model(module, example_input=ids, input=[list(ids.shape)])
    hint = {"fp32": ov.Type.f32, "bf16": ov.Type.bf16, "fp16": ov.Type.f16, "int8-static": ov.Type.f32}[precision]
    if precision == "int8-static":
        import nncf
        from openvino import Core
        if "BF16" in Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            hint = ov.Type.bf16
        data = nncf.Dataset([ids], lambda item: item.numpy())
        model = nncf.quantize(model, data, model_type=nncf.ModelType.TRANSFORMER, subset_size=1)
    config = {hints.inference_precision(): hint, hints.performance_mode(): hints.PerformanceMode.LATENCY,
              "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = ov.Core().compile_model(model, "CPU", config)
    kinds = set()
    for operation in compiled.get_runtime_model().get_ordered_ops():
        info = operation.get_rt_info()
        if "layerType" in info and "FullyConnected" in str(info["layerType"].astype(str)):
            kinds.add(info["runtimePrecision"].astype(str))
    wanted = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}.get(precision)
    if wanted is not None and kinds != {wanted}:
        raise Refused(f"OpenVINO was told {precision} and ran its matmuls in {', '.join(sorted(kinds))}")
    request = compiled.create_infer_request()
    feed = [ids.numpy()]
    return lambda: request.infer(feed), f"FullyConnected ran in {', '.join(sorted(kinds))}"


PEERS = {"pytorch": torch_eager, "pytorch-compiled": torch_compiled, "onnxruntime": onnxruntime, "openvino": openvino}
