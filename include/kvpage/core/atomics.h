// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/atomics.h
//
// The closed list of atomic verbs that kvpage's algorithms use. The memory order is part of the
// name, so every use can be found by searching for it; a new verb needs a reason in docs/design.md.
//
// An Atomics policy is a type with these static functions, for uint32_t and uint64_t words:
//   kvpage/core/cpu_atomics.h     CpuAtomics: std::atomic_ref, for CPU threads
//   kvpage/cuda/cuda_atomics.cuh  CudaAtomics: PTX at device scope
// and in the tests a seeded scheduler that also plays a weak memory. The algorithms take the policy
// as a template parameter and never name one.
//
// Verbs without Fetch have no result, so that a GPU can use the form that returns nothing.
// FenceAcqRel orders everything before it in the calling thread with everything after it, in the
// sense of std::atomic_thread_fence(acq_rel): relaxed loads before it acquire, relaxed stores and
// read-modify-writes after it release.

#ifndef KVPAGE_CORE_ATOMICS_H_
#define KVPAGE_CORE_ATOMICS_H_

#include <concepts>
#include <cstdint>

namespace kvpage {

template <class A, class T>
concept AtomicVerbs = requires(T* word, const T* read, T value, T& expected) {
  { A::LoadRelaxed(read) } -> std::same_as<T>;
  { A::LoadAcquire(read) } -> std::same_as<T>;
  A::StoreRelaxed(word, value);
  A::StoreRelease(word, value);
  A::StoreReleaseSystem(word, value);  // also to the host, where the words are a GPU's
  A::AddRelaxed(word, value);
  A::OrRelease(word, value);
  { A::FetchAddRelaxed(word, value) } -> std::same_as<T>;
  { A::FetchAndRelaxed(word, value) } -> std::same_as<T>;
  { A::FetchAndAcquire(word, value) } -> std::same_as<T>;
  { A::FetchOrRelaxed(word, value) } -> std::same_as<T>;
  { A::FetchMinRelaxed(word, value) } -> std::same_as<T>;
  { A::ExchangeRelaxed(word, value) } -> std::same_as<T>;
  { A::CompareExchangeRelaxed(word, expected, value) } -> std::same_as<bool>;
};

template <class A>
concept Atomics = AtomicVerbs<A, uint32_t> && AtomicVerbs<A, uint64_t> &&
    requires(uint32_t n, uint8_t* byte) {
  A::StoreRelaxed(byte, *byte);  // a status that several lanes may set
  A::FenceAcqRel();
  A::Pause(n);  // called with 0, 1, 2, ... by a thread that waits for another
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ATOMICS_H_
