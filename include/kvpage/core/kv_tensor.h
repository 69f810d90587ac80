// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/kv_tensor.h
//
// Describes a caller's KV tensor by strides, so that kvpage can copy token slots in it without
// knowing its shape. All strides are in bytes. The `head_bytes` bytes of layer l, block b, head h
// and token slot t begin at
//   data + l * layer_stride + b * block_stride + h * head_stride + t * token_stride.
//
// Examples, with element size e, block_tokens T, heads H, head dimension D:
//   NHD  [blocks, T, H, D]      heads 1, head_bytes H*D*e, token_stride H*D*e, block_stride T*H*D*e
//   HND  [blocks, H, T, D]      heads H, head_bytes D*e, head_stride T*D*e, token_stride D*e
//   K and V in one tensor [blocks, 2, ...]: two KvTensors, or K and V as two more "heads"
//   several layers: num_layers and layer_stride, or one KvTensor for each

#ifndef KVPAGE_CORE_KV_TENSOR_H_
#define KVPAGE_CORE_KV_TENSOR_H_

#include <cstdint>

namespace kvpage {

struct KvTensor {
  void* data = nullptr;
  int64_t num_layers = 1;
  int64_t layer_stride = 0;
  int64_t block_stride = 0;
  int64_t num_heads = 1;
  int64_t head_stride = 0;
  int64_t token_stride = 0;
  int64_t head_bytes = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_KV_TENSOR_H_
