"""What PyTorch ran in: the words for logs and kernels' names, and, where torch is installed, a run."""

import contextlib
import io
import unittest

from common import assay
from assay._torch_words import Call, Visit, ran_by_cuda, ran_by_mkl, ran_by_onednn, rows_of

AMX = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_amx,undef,src:bf16::blocked:ab::f0 "
    "wei:bf16::blocked:BA16a64b2a::f0 bia:f32:a:blocked:ab::f0_mask2 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,"
    "128x768:768x3072,0.31"
)


class Logs(unittest.TestCase):
    def test_onednn_names_its_instruction_set_and_operands(self):
        old = (
            "dnnl_verbose,exec,cpu,inner_product,{},forward_inference,src_{}::blocked:ab:f0 wei_{}::blocked:ab:f0 "
            "bia_undef::undef::f0 dst_f32::blocked:ab:f0,{},,mb1ic2oc3,0.1"
        )
        for line, operand, verdict, sums in [
            (AMX, "bf16", "native", "f32"),
            (AMX.replace("avx512_core_amx", "avx512_core"), "bf16", "emulated", "f32"),
            (AMX.replace("brg_matmul:avx512_core_amx", "ref:any"), "bf16", "emulated", "f32"),
            (AMX.replace("bf16:", "f16:"), "f16", "emulated", "f32"),
            (AMX.replace("bf16:", "f16:").replace("core_amx", "core_amx_fp16"), "f16", "native", "f32"),
            (old.format("gemm:jit", "f32", "f32", ""), "f32", "native", "f32"),
            (old.format("brgemm:avx512_core_amx", "f32", "f32", "attr-fpmath:bf16"), "bf16", "native", "f32"),
            (old.format("brgemm:avx512_core_vnni", "u8", "s8", ""), "s8", "native", "s32"),
        ]:
            with self.subTest(line=line):
                ran = ran_by_onednn(line)
                self.assertEqual((ran.operand, ran.verdict, ran.accumulator), (operand, verdict, sums))

    def test_lines_that_are_no_product_say_nothing(self):
        for line in (AMX.replace("exec", "create:cache_hit"), AMX.replace(",matmul,", ",reorder,"), "", "hello"):
            self.assertIsNone(ran_by_onednn(line))
            self.assertIsNone(ran_by_mkl(line))

    def test_mkl_names_its_operands_and_the_processor_says_whether_it_has_them(self):
        line = "MKL_VERBOSE SGEMM(T,N,128,16,64,0x7ffc,0x5581,64) 33.04us CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2"
        self.assertEqual(ran_by_mkl(line).operand, "f32")
        short = line.replace("SGEMM", "GEMM_BF16BF16F32")
        self.assertEqual(ran_by_mkl(short).verdict, "emulated")
        self.assertEqual(ran_by_mkl(short, frozenset({"avx512_bf16"})).verdict, "native")

    def test_names_of_kernels_on_a_gpu(self):
        for kernel, tensors, operand, sums in [
            ("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", "f32", "tf32", "f32"),
            ("ampere_sgemm_32x128_tn", "f32", "f32", "f32"),
            ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn", "bf16", "bf16", "f32"),
            ("ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f", "f16", "f16", "f32"),
            ("turing_fp16_s1688gemm_fp16_128x64_sliced1x2_ldg8_f2f_nn", "f16", "f16", "f32"),
            ("volta_h884gemm_256x64_ldg8_nn", "f16", "f16", "f16"),
            ("cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn", "s8", "s8", "s32"),
            ("nvjet_tst_192x192_64x4", "bf16", "bf16", "f32"),
        ]:
            with self.subTest(kernel=kernel):
                ran = ran_by_cuda([kernel], tensors, False)
                self.assertEqual((ran.operand, ran.accumulator), (operand, sums))
        self.assertIn("tf32 is allowed", ran_by_cuda(["nvjet_sss"], "f32", True).evidence)


class Rows(unittest.TestCase):
    def test_casts_of_autocast_are_seen_through(self):
        inner = Call("aten::addmm", ["c10::BFloat16"] * 3)
        outer = Call("aten::linear", ["float"] * 3, calls=[Call("aten::to", calls=[Call("aten::_to_copy")]), inner])
        row = rows_of(Visit("layers.0.attn.q_proj", "mixed-bf16", [outer], [AMX]))[0]
        self.assertEqual((row.stored, row.operand, row.verdict, row.role), ("f32", "bf16", "native", "attention"))
        row = rows_of(Visit("layers.0.attn.q_proj", "mixed-bf16", [outer], []))[0]
        self.assertEqual((row.operand, row.verdict), ("f32", "widened"), "no library said that it multiplies bf16")

    def test_views_and_what_did_nothing_have_no_row(self):
        calls = [Call("aten::view"), Call("aten::to"), Call("aten::dropout"), Call("aten::t"), Call("a_label")]
        self.assertEqual(rows_of(Visit("x", "fp32", calls)), [])

    def test_each_product_has_its_line_where_there_are_as_many_and_else_the_worst_of_all(self):
        calls = [Call("aten::linear", ["c10::BFloat16"]), Call("aten::gelu", ["c10::BFloat16"]), Call("aten::mm", [])]
        lines = [AMX, AMX.replace("brg_matmul:avx512_core_amx", "ref:any")]
        rows = rows_of(Visit("x", "bf16", calls, lines))
        self.assertEqual([row.verdict for row in rows], ["native", "widened", "emulated"])
        rows = rows_of(Visit("x", "bf16", calls, [*lines, AMX]))
        self.assertEqual([row.verdict for row in rows], ["emulated", "widened", "emulated"])

    def test_eight_bit_operators_are_integers(self):
        row = rows_of(Visit("x", "int8", [Call("quantized::linear_dynamic", ["float"])], quantized_engine="x86"))[0]
        self.assertEqual((row.operand, row.accumulator, row.stored), ("s8", "s32", "f32"))

    def test_a_ledger_is_told_in_rows_and_escaped(self):
        ledger = assay.Ledger(rows_of(Visit("a.<b>", "fp32", [Call("aten::linear", ["float"])])))
        self.assertEqual(ledger.summary()[("linear", "f32", "native")], 1)
        self.assertEqual((len(ledger.of("a")), len(ledger.of("a.<")), len(ledger.of(""))), (1, 0, 1))
        self.assertIn("a.&lt;b&gt;", ledger._repr_html_())
        self.assertIn("linear", str(ledger))


def torch_or_skip():
    try:
        import torch
    except ImportError:
        raise unittest.SkipTest("torch is not installed") from None
    return torch


class Torch(unittest.TestCase):
    def test_every_module_that_computes_has_its_rows(self):
        torch = torch_or_skip()
        layers = [torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.LayerNorm(96), torch.nn.Linear(96, 8)]
        ledger = assay.Ledger.of_torch(torch.nn.Sequential(*layers), torch.randn(16, 64))
        self.assertEqual([row.path for row in ledger], ["0", "1", "2", "3"])
        self.assertEqual([row.operation for row in ledger], ["linear", "activation", "layer_norm", "linear"])
        self.assertEqual({row.requested for row in ledger}, {"fp32"})
        self.assertEqual([(one.dtype, one.device) for one in ledger.inputs], [("f32", "cpu")])
        self.assertGreater(ledger.rows[0].flops, 0)

    def test_autocast_is_what_was_asked_and_weights_are_what_is_stored(self):
        torch = torch_or_skip()
        model = torch.nn.Sequential(torch.nn.Linear(64, 64))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            row = assay.Ledger.of_torch(model, torch.randn(4, 64)).rows[0]
        self.assertEqual((row.requested, row.stored), ("mixed-bf16", "f32"))
        self.assertEqual(row.operand, "f32" if row.verdict == "widened" else "bf16")

    def test_what_the_module_prints_is_printed_and_its_error_is_raised(self):
        torch = torch_or_skip()

        class Speaks(torch.nn.Module):
            def forward(self, x):
                print("a word")
                if x.sum() > 0:
                    raise ValueError("no more")
                return x * 2

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(assay.Ledger.of_torch(Speaks(), -torch.ones(3)).rows[-1].operation, "multiply")
        self.assertIn("a word", out.getvalue())
        module = Speaks()
        with contextlib.redirect_stdout(io.StringIO()), self.assertRaisesRegex(ValueError, "no more"):
            assay.Ledger.of_torch(module, torch.ones(3))
        self.assertFalse(module._forward_hooks or module._forward_pre_hooks)


if __name__ == "__main__":
    unittest.main()
