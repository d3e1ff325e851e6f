# SPDX-License-Identifier: Apache-2.0
"""The dtypes by the names that other libraries have for them. This imports nothing: tally.torch needs no numpy."""

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool"}

DTYPES = tuple(NAMES.values())
FLOATS = DTYPES[:4]
