#pragma once

#include "model/quantised.h"
#include "model/quantised_parts.h"

namespace assay {

// What bitsandbytes keeps of a linear layer, by the definition of its source (0.50, MIT licence): functional.py and the
// default operations.
//
//   nf4, fp4   weight of any dtype, its bytes codes of the matrix row behind row, the first of two in the high bits;
//              a scale for each `blocksize` of them: weight.absmax F32, or U8 codes of a table with scales of their
//              own,
//                absmax = nested_quant_map[code] nested_absmax[i / nested_blocksize] + nested_offset
//              weight.quant_map: the table; weight.quant_state.bitsandbytes__nf4: JSON with quant_type, blocksize,
//              shape and the nested ones
//   int8       weight I8 (out, in), SCB F32 (out): code * SCB / 127 in two products (LLM.int8)
Joined join_nf4(const KeptParts& parts, const StoredQuantisation& quantisation);
Joined join_fp4(const KeptParts& parts, const StoredQuantisation& quantisation);
Joined join_llm_int8(const KeptParts& parts, const StoredQuantisation& quantisation);

}  // namespace assay
