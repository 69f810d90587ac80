// SPDX-License-Identifier: Apache-2.0
//
// Fibers over ucontext, with the announcements that the sanitizers need.

#include "tests/support/fiber.h"

#include <pthread.h>

#include <cstdint>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace kvpage::test {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

}  // namespace

FiberContext::FiberContext() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* bottom = nullptr;
    pthread_attr_getstack(&attributes, &bottom, &stack_size_);
    stack_bottom_ = bottom;
    pthread_attr_destroy(&attributes);
  }
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

void FiberContext::Switch(FiberContext& from, FiberContext& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_bottom_, to.stack_size_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  swapcontext(&from.context_, &to.context_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack_, nullptr, nullptr);
#endif
}

void FiberContext::EnteredForTheFirstTime() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

Fiber::Fiber() : FiberContext(NewStack{}), stack_(new char[kStackBytes]) {
  stack_bottom_ = stack_.get();
  stack_size_ = kStackBytes;
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  // makecontext passes ints: the pointer travels in two halves.
  const uint64_t self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::Trampoline), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void Fiber::Trampoline(unsigned high, unsigned low) {
  const uint64_t self = (uint64_t{high} << 32) | low;
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(self))->Loop();
}

void Fiber::Loop() {
  EnteredForTheFirstTime();
  for (;;) {
    FiberContext* next = body_();
    Switch(*this, *next);
  }
}

}  // namespace kvpage::test
