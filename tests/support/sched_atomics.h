// SPDX-License-Identifier: Apache-2.0
//
// tests/support/sched_atomics.h
//
// The Atomics policy of the seeded scheduler: each verb is one step of the scheduler that is
// running on this OS thread, played in its weak memory. With none running, verbs act on the word
// alone, so that a test can set up and inspect a structure through the same code.

#ifndef KVPAGE_TESTS_SUPPORT_SCHED_ATOMICS_H_
#define KVPAGE_TESTS_SUPPORT_SCHED_ATOMICS_H_

#include <algorithm>
#include <cstdint>

#include "kvpage/core/atomics.h"
#include "tests/support/scheduler.h"

namespace kvpage::test {

struct SchedAtomics {
  template <class T>
  static T LoadRelaxed(const T* word) {
    return Load("load", word, false);
  }
  template <class T>
  static T LoadAcquire(const T* word) {
    return Load("load.acquire", word, true);
  }
  // The fibers of one thread cannot tear a byte, and nobody acts on it.
  static void StoreRelaxed(uint8_t* byte, uint8_t value) { *byte = value; }
  template <class T>
  static void StoreRelaxed(T* word, T value) {
    Store("store", word, value, false);
  }
  template <class T>
  static void StoreRelease(T* word, T value) {
    Store("store.release", word, value, true);
  }
  template <class T>
  static void StoreReleaseSystem(T* word, T value) {
    StoreRelease(word, value);
  }
  template <class T>
  static void AddRelaxed(T* word, T value) {
    Update("add", word, Gain::kNothing, false, value,
           [value](T old) { return static_cast<T>(old + value); });
  }
  template <class T>
  static void OrRelease(T* word, T value) {
    Update("or.release", word, Gain::kNothing, true, value, [value](T old) { return old | value; });
  }
  template <class T>
  static T FetchAddRelaxed(T* word, T value) {
    return Update("fetch_add", word, Gain::kByFence, false, value,
                  [value](T old) { return static_cast<T>(old + value); });
  }
  template <class T>
  static T FetchAndRelaxed(T* word, T value) {
    return Update("fetch_and", word, Gain::kByFence, false, value,
                  [value](T old) { return old & value; });
  }
  template <class T>
  static T FetchAndAcquire(T* word, T value) {
    return Update("fetch_and.acquire", word, Gain::kAtOnce, false, value,
                  [value](T old) { return old & value; });
  }
  template <class T>
  static T FetchOrRelaxed(T* word, T value) {
    return Update("fetch_or", word, Gain::kByFence, false, value,
                  [value](T old) { return old | value; });
  }
  template <class T>
  static T FetchMinRelaxed(T* word, T value) {
    return Update("fetch_min", word, Gain::kByFence, false, value,
                  [value](T old) { return std::min(old, value); });
  }
  template <class T>
  static T ExchangeRelaxed(T* word, T value) {
    return Update("exchange", word, Gain::kByFence, false, value, [value](T) { return value; });
  }
  template <class T>
  static bool CompareExchangeRelaxed(T* word, T& expected, T value) {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) {
      const bool is_equal = *word == expected;
      expected = *word;
      if (is_equal) *word = value;
      return is_equal;
    }
    scheduler->Step();
    uint64_t seen = expected;
    const bool done =
        scheduler->memory().CompareExchange(scheduler->self(), word, sizeof(T), seen, value);
    expected = static_cast<T>(seen);
    scheduler->Note(done ? "compare_exchange" : "compare_exchange.failed", word,
                    done ? value : seen);
    return done;
  }

  static void FenceAcqRel() {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) return;
    scheduler->Step();
    scheduler->memory().Fence(scheduler->self());
    scheduler->Note("fence", nullptr, 0);
  }
  static void Pause(uint32_t attempt) {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) return;
    scheduler->Pause();
    scheduler->Note("pause", nullptr, attempt);
  }

 private:
  template <class T>
  static T Load(const char* verb, const T* word, bool acquire) {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) return *word;
    scheduler->Step();
    const uint64_t value = scheduler->memory().Load(scheduler->self(), word, sizeof(T), acquire);
    scheduler->Note(verb, word, value);
    return static_cast<T>(value);
  }
  template <class T>
  static void Store(const char* verb, T* word, T value, bool release) {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) {
      *word = value;
      return;
    }
    scheduler->Step();
    scheduler->memory().Store(scheduler->self(), word, sizeof(T), value, release);
    scheduler->Note(verb, word, value);
  }
  template <class T, class F>
  static T Update(const char* verb, T* word, Gain gain, bool release, T operand, F next) {
    Scheduler* scheduler = Scheduler::Current();
    if (scheduler == nullptr) {
      const T old = *word;
      *word = next(old);
      return old;
    }
    scheduler->Step();
    scheduler->Note(verb, word, operand);
    return static_cast<T>(scheduler->memory().Update(
        scheduler->self(), word, sizeof(T), gain, release,
        [&next](uint64_t old) { return uint64_t{next(static_cast<T>(old))}; }));
  }
};

static_assert(Atomics<SchedAtomics>);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SCHED_ATOMICS_H_
