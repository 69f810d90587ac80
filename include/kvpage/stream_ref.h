// SPDX-License-Identifier: Apache-2.0
//
// kvpage/stream_ref.h
//
// Names the stream that an operation is enqueued on. A CUDA cache runs it there, in order, and
// returns at once; a CPU cache runs every operation before it returns, whatever the stream.
//
// Example:
//   cache->Append(kvpage::StreamRef(stream), batch);      // stream: cudaStream_t
//   cache->Append(kvpage::StreamRef::Default(), batch);   // CUDA's legacy default stream, or the
//   CPU
//
// Non-owning, trivially copyable. A literal 0 or nullptr is not a stream by accident.

#ifndef KVPAGE_STREAM_REF_H_
#define KVPAGE_STREAM_REF_H_

#include <cstddef>

struct CUstream_st;  // what cudaStream_t points to

namespace kvpage {

class StreamRef {
 public:
  explicit constexpr StreamRef(CUstream_st* stream) : stream_(stream) {}
  StreamRef(std::nullptr_t) = delete;
  StreamRef(int) = delete;

  static constexpr StreamRef Default() { return StreamRef(static_cast<CUstream_st*>(nullptr)); }

  constexpr CUstream_st* get() const { return stream_; }

 private:
  CUstream_st* stream_;
};

}  // namespace kvpage

#endif  // KVPAGE_STREAM_REF_H_
