// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/yielding_atomics.h
//
// CpuAtomics that now and then lets other threads go first. The windows between two atomics of an
// algorithm are some nanoseconds wide, and threads seldom meet in them; here they meet all the
// time, however few cores there are.

#ifndef KVPAGE_TESTS_CONFORMANCE_YIELDING_ATOMICS_H_
#define KVPAGE_TESTS_CONFORMANCE_YIELDING_ATOMICS_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "kvpage/core/bits.h"
#include "kvpage/core/cpu_atomics.h"

namespace kvpage::test {

struct YieldingAtomics {
  template <class T>
  static T LoadRelaxed(const T* word) {
    MaybeYield();
    return CpuAtomics::LoadRelaxed(word);
  }
  template <class T>
  static T LoadAcquire(const T* word) {
    MaybeYield();
    return CpuAtomics::LoadAcquire(word);
  }
  template <class T>
  static void StoreRelaxed(T* word, T value) {
    MaybeYield();
    CpuAtomics::StoreRelaxed(word, value);
  }
  template <class T>
  static void StoreRelease(T* word, T value) {
    MaybeYield();
    CpuAtomics::StoreRelease(word, value);
  }
  template <class T>
  static void StoreReleaseSystem(T* word, T value) {
    StoreRelease(word, value);
  }
  template <class T>
  static void AddRelaxed(T* word, T value) {
    MaybeYield();
    CpuAtomics::AddRelaxed(word, value);
  }
  template <class T>
  static void OrRelease(T* word, T value) {
    MaybeYield();
    CpuAtomics::OrRelease(word, value);
  }
  template <class T>
  static T FetchAddRelaxed(T* word, T value) {
    MaybeYield();
    return CpuAtomics::FetchAddRelaxed(word, value);
  }
  template <class T>
  static T FetchAndRelaxed(T* word, T value) {
    MaybeYield();
    return CpuAtomics::FetchAndRelaxed(word, value);
  }
  template <class T>
  static T FetchAndAcquire(T* word, T value) {
    MaybeYield();
    return CpuAtomics::FetchAndAcquire(word, value);
  }
  template <class T>
  static T FetchOrRelaxed(T* word, T value) {
    MaybeYield();
    return CpuAtomics::FetchOrRelaxed(word, value);
  }
  template <class T>
  static T FetchMinRelaxed(T* word, T value) {
    MaybeYield();
    return CpuAtomics::FetchMinRelaxed(word, value);
  }
  template <class T>
  static T ExchangeRelaxed(T* word, T value) {
    MaybeYield();
    return CpuAtomics::ExchangeRelaxed(word, value);
  }
  template <class T>
  static bool CompareExchangeRelaxed(T* word, T& expected, T value) {
    MaybeYield();
    return CpuAtomics::CompareExchangeRelaxed(word, expected, value);
  }
  static void FenceAcqRel() { CpuAtomics::FenceAcqRel(); }
  static void Pause(uint32_t) { std::this_thread::yield(); }

 private:
  static void MaybeYield() {
    static thread_local uint64_t state = std::hash<std::thread::id>()(std::this_thread::get_id());
    state = MixBits(state);
    if (state % 8 == 0) std::this_thread::yield();
  }
};

static_assert(Atomics<YieldingAtomics>);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_YIELDING_ATOMICS_H_
