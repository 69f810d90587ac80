// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/cpu_workload_backends.h
//
// The workload backends (workload_world.h) that need no GPU: CPU threads, each a group of its own,
// at full speed and with yields strewn in; warps and thread blocks whose lanes are CPU threads.

#ifndef KVPAGE_TESTS_CONFORMANCE_CPU_WORKLOAD_BACKENDS_H_
#define KVPAGE_TESTS_CONFORMANCE_CPU_WORKLOAD_BACKENDS_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "kvpage/core/group.h"
#include "tests/conformance/yielding_atomics.h"
#include "tests/support/emulated_warp.h"

namespace kvpage::test {

// Relaxed, whatever sanitizer there is (CpuAtomics is stronger under one).
struct CpuMarks {
  template <class T>
  static T ExchangeRelaxed(T* word, T value) {
    return std::atomic_ref<T>(*word).exchange(value, std::memory_order_relaxed);
  }
  template <class T>
  static void AddRelaxed(T* word, T value) {
    std::atomic_ref<T>(*word).fetch_add(value, std::memory_order_relaxed);
  }
  static void FetchMinRelaxed(uint64_t* word, uint64_t value) {
    std::atomic_ref<uint64_t> ref(*word);
    uint64_t old = ref.load(std::memory_order_relaxed);
    while (value < old && !ref.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
    }
  }
};

template <class A>
struct CpuMemory {
  using Atomics = A;
  using Marks = CpuMarks;

  static void* Allocate(size_t bytes) {
    const size_t rounded = (bytes + 1 + 255) / 256 * 256;
    void* memory = std::aligned_alloc(256, rounded);
    std::memset(memory, 0, rounded);
    return memory;
  }
  static void Free(void* memory) { std::free(memory); }
  static void Upload(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  static void Download(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
  template <class Task>
  static void RunWorkers(const Task& task) {
    task(0, 1);
  }
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr uint32_t kThreadRounds = 200;
#else
inline constexpr uint32_t kThreadRounds = 2000;
#endif

template <class A, uint32_t kNumRounds>
struct ThreadBackend : CpuMemory<A> {
  static constexpr uint32_t kRounds = kNumRounds;

  struct Shape {
    uint32_t units;
  };
  static std::vector<Shape> Shapes() { return {{1}, {2}, {8}, {16}}; }
  static uint32_t LanesPerUnit(const Shape&) { return 1; }

  template <class Workload>
  static void Run(const Shape& shape, const Workload& workload) {
    std::atomic<uint32_t> waiting{shape.units};
    std::vector<std::thread> threads;
    for (uint32_t unit = 0; unit < shape.units; ++unit) {
      threads.emplace_back([&, unit] {
        waiting.fetch_sub(1, std::memory_order_relaxed);
        while (waiting.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
        ThreadGroup me(unit);
        workload(me, unit, unit);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

using CpuThreadBackend = ThreadBackend<CpuAtomics, kThreadRounds>;
using YieldingThreadBackend = ThreadBackend<YieldingAtomics, kThreadRounds / 10>;

struct EmulatedBackend : CpuMemory<CpuAtomics> {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static constexpr uint32_t kRounds = 1;
  static constexpr uint32_t kMaxUnits = 2;
#else
  static constexpr uint32_t kRounds = 3;
  static constexpr uint32_t kMaxUnits = 4;
#endif

  struct Shape {
    uint32_t units;
    uint32_t warps_per_unit;
  };
  static std::vector<Shape> Shapes() { return {{kMaxUnits, 1}, {kMaxUnits / 2, 2}}; }
  static uint32_t LanesPerUnit(const Shape& shape) { return shape.warps_per_unit * kWarpLanes; }

  template <class Workload>
  static void Run(const Shape& shape, const Workload& workload) {
    RunBlocks(shape.units, shape.warps_per_unit, [&](EmulatedBlock& block) {
      // A block's spread is the number of its first warp.
      const uint32_t unit = block.spread() / shape.warps_per_unit;
      workload(block, unit, unit * LanesPerUnit(shape));
    });
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_CPU_WORKLOAD_BACKENDS_H_
