// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/cpu_atomics.h
//
// The Atomics policy for CPU threads: each verb is the std::atomic_ref operation of its name.
//
// ThreadSanitizer does not model fences. Under it every relaxed verb is strengthened to the order
// that the fences around it would give, so that it still sees each missing synchronisation path;
// the seeded scheduler of the tests, which does model fences, proves the exact orders.

#ifndef KVPAGE_CORE_CPU_ATOMICS_H_
#define KVPAGE_CORE_CPU_ATOMICS_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "kvpage/core/atomics.h"

namespace kvpage {

struct CpuAtomics {
#if defined(__SANITIZE_THREAD__)
  static constexpr std::memory_order kRelaxedLoad = std::memory_order_acquire;
  static constexpr std::memory_order kRelaxedStore = std::memory_order_release;
  static constexpr std::memory_order kRelaxedUpdate = std::memory_order_acq_rel;
#else
  static constexpr std::memory_order kRelaxedLoad = std::memory_order_relaxed;
  static constexpr std::memory_order kRelaxedStore = std::memory_order_relaxed;
  static constexpr std::memory_order kRelaxedUpdate = std::memory_order_relaxed;
#endif

  template <class T>
  static T LoadRelaxed(const T* word) {
    return Ref(word).load(kRelaxedLoad);
  }
  template <class T>
  static T LoadAcquire(const T* word) {
    return Ref(word).load(std::memory_order_acquire);
  }
  template <class T>
  static void StoreRelaxed(T* word, T value) {
    Ref(word).store(value, kRelaxedStore);
  }
  template <class T>
  static void StoreRelease(T* word, T value) {
    Ref(word).store(value, std::memory_order_release);
  }
  template <class T>
  static void StoreReleaseSystem(T* word, T value) {
    StoreRelease(word, value);
  }
  template <class T>
  static void AddRelaxed(T* word, T value) {
    Ref(word).fetch_add(value, kRelaxedUpdate);
  }
  template <class T>
  static void OrRelease(T* word, T value) {
    Ref(word).fetch_or(value, std::memory_order_release);
  }
  template <class T>
  static T FetchAddRelaxed(T* word, T value) {
    return Ref(word).fetch_add(value, kRelaxedUpdate);
  }
  template <class T>
  static T FetchAndRelaxed(T* word, T value) {
    return Ref(word).fetch_and(value, kRelaxedUpdate);
  }
  template <class T>
  static T FetchAndAcquire(T* word, T value) {
    return Ref(word).fetch_and(value, std::memory_order_acquire);
  }
  template <class T>
  static T FetchOrRelaxed(T* word, T value) {
    return Ref(word).fetch_or(value, kRelaxedUpdate);
  }
  template <class T>
  static T FetchMinRelaxed(T* word, T value) {
    T old = LoadRelaxed(word);
    while (value < old && !CompareExchangeRelaxed(word, old, value)) {
    }
    return old;
  }
  template <class T>
  static T ExchangeRelaxed(T* word, T value) {
    return Ref(word).exchange(value, kRelaxedUpdate);
  }
  template <class T>
  static bool CompareExchangeRelaxed(T* word, T& expected, T value) {
    return Ref(word).compare_exchange_strong(expected, value, kRelaxedUpdate, kRelaxedLoad);
  }

  static void FenceAcqRel() {
#if !defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
  }
  static void Pause(uint32_t attempt) {
    if (attempt >= 4) std::this_thread::yield();
  }

 private:
  template <class T>
  static std::atomic_ref<T> Ref(const T* word) {
    static_assert(std::atomic_ref<T>::is_always_lock_free);
    return std::atomic_ref<T>(*const_cast<T*>(word));
  }
};

static_assert(Atomics<CpuAtomics>);

}  // namespace kvpage

#endif  // KVPAGE_CORE_CPU_ATOMICS_H_
