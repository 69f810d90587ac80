// SPDX-License-Identifier: Apache-2.0
//
// src/dtype_convert.h
//
// Elements of each Dtype as doubles, which hold all of them exactly, and back with one rounding, to
// the nearest, ties to even.

#ifndef KVPAGE_SRC_DTYPE_CONVERT_H_
#define KVPAGE_SRC_DTYPE_CONVERT_H_

#include <cstdint>

#include "kvpage/core/softmax_types.h"

namespace kvpage {

// Element i of an array.
double ReadElement(const void* array, Dtype dtype, int64_t i);
// REQUIRES: not kE4m3.
void WriteElement(void* array, Dtype dtype, int64_t i, double value);

}  // namespace kvpage

#endif  // KVPAGE_SRC_DTYPE_CONVERT_H_
