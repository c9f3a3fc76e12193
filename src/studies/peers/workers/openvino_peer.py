"""OpenVINO on the CPU, told in which precision to run; what it ran in stands in its executed graph."""
import os
import sys
from collections import Counter

sys.modules["openvino_telemetry"] = None  # Nobody is told what runs: OpenVINO and NNCF do without it.

import numpy as np
import openvino
import openvino.properties.hint as hints
import torch

from job import Batch, Operation, Refused
from network import Network, input_arrays, input_tensors, open_model, settled

TYPES = {"fp32": openvino.Type.f32, "bf16": openvino.Type.bf16, "fp16": openvino.Type.f16}
OPERANDS = {"f32": "f32", "bf16": "bf16", "f16": "f16", "u8": "u8", "i8": "s8", "f64": "f64"}
PRODUCTS = {"FullyConnected": "linear", "MatMul": "attention", "ScaledDotProductAttention": "attention",
            "LLMMLP": "linear", "QKVProjection": "linear"}
ANY_SHAPE = [-1, -1]
MOST_OFF = 1e-2  # of the largest logit: by rounding graphs of the same model differ by far less


class OpenvinoPeer:
    def __init__(self, job):
        if job.precision not in TYPES and job.precision != "int8-static":
            raise Refused(f"cannot be asked for {job.precision}")
        self.job, self.compiled = job, {}
        self.network = Network(job, open_model(job)).eval()
        self.quantised = self.quantised_model() if job.precision == "int8-static" else None

    def precision_hint(self):
        """Of what is quantised the rest runs in bf16 where there are instructions for it."""
        if self.quantised is None:
            return TYPES[self.job.precision]
        has_bf16 = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        return openvino.Type.bf16 if has_bf16 else openvino.Type.f32

    def quantised_model(self):
        """By NNCF, of any shape. It is kept: each cell and the scores are processes of their own."""
        kept = self.job.kept / f"quantised-{'-'.join(self.network.names)}-{'last' if self.job.last_only else 'all'}.xml"
        if not kept.exists():
            import nncf
            rows = [input_arrays(self.job, without_padding(row)) for row in self.job.calibration]
            model = self.model_of_any_shape(rows)
            model = nncf.quantize(model, nncf.Dataset(rows), model_type=nncf.ModelType.TRANSFORMER,
                                  subset_size=len(rows))
            made = self.job.folder / "quantised.xml"
            openvino.save_model(model, str(made), compress_to_fp16=False)
            os.replace(made.with_suffix(".bin"), kept.with_suffix(".bin"))
            os.replace(made, kept)
        return openvino.Core().read_model(str(kept))

    def model_of_any_shape(self, rows):
        """Refused where tracing has written the example's shape into it."""
        example = input_tensors(self.job, self.job.batches[0])
        model = openvino.convert_model(self.network, example_input=tuple(example), input=[ANY_SHAPE] * len(example))
        with torch.inference_mode():
            exact = self.network(*map(torch.from_numpy, rows[0])).numpy()
        logits = openvino.Core().compile_model(model, "CPU", self.config(openvino.Type.f32))(rows[0])[0]
        if logits.shape != exact.shape or np.abs(logits - exact).max() > MOST_OFF * np.abs(exact).max():
            raise Refused("its graph of any shape gives other logits than the model, so that it cannot be calibrated")
        return model

    def config(self, hint):
        return {hints.inference_precision(): hint, hints.performance_mode(): hints.PerformanceMode.LATENCY,
                "INFERENCE_NUM_THREADS": self.job.threads, "NUM_STREAMS": 1}

    def model_for(self, batch):
        """Of that batch's shape and no other, which is optimised the most."""
        shape = list(batch.ids.shape)
        if self.quantised is not None:
            model = self.quantised.clone()
            model.reshape({place: shape for place in range(len(model.inputs))})
            return model
        tensors = input_tensors(self.job, batch)
        return openvino.convert_model(self.network, example_input=tuple(tensors), input=[shape] * len(tensors))

    def compiled_for(self, batch):
        shape = batch.ids.shape
        if shape not in self.compiled:
            compiled = openvino.Core().compile_model(self.model_for(batch), "CPU", self.config(self.precision_hint()))
            self.compiled[shape] = compiled, compiled.create_infer_request()
        return self.compiled[shape]

    def take(self, batch):
        self.batch = batch
        self.model, self.request = self.compiled_for(batch)
        self.feed = [np.ascontiguousarray(array) for array in input_arrays(self.job, batch)]

    def run(self):
        return self.request.infer(self.feed, share_inputs=True, share_outputs=True)[0]

    def logits(self, result):
        return settled(self.job, self.batch, np.asarray(result, np.float32))

    def ran(self):
        found = Counter()
        for operation in self.model.get_runtime_model().get_ordered_ops():
            info = operation.get_rt_info()
            kind = text_of(info, "layerType")
            if kind in PRODUCTS:
                found[kind, text_of(info, "primitiveType"), text_of(info, "runtimePrecision")] += 1
        return [Operation(kind, OPERANDS.get(precision, precision), PRODUCTS[kind], kernel, count, "its executed graph")
                for (kind, kernel, precision), count in found.most_common()]


def without_padding(row):
    """Of one row of ids the real ones."""
    if row.mask is None:
        return row
    return Batch(row.ids[row.mask != 0][None], None, None if row.types is None else row.types[row.mask != 0][None])


def text_of(info, name):
    return str(info[name].astype(str)) if name in info else ""


def open_peer(job):
    return OpenvinoPeer(job)
