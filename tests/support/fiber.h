// SPDX-License-Identifier: Apache-2.0
//
// tests/support/fiber.h
//
// Fibers: stacks that one OS thread switches between by hand, so that a scheduler decides every
// interleaving. Built on ucontext and announced to AddressSanitizer and ThreadSanitizer.
//
// Thread safety: a fiber belongs to the OS thread that made it.
// Failure: the body must not let an exception escape.

#ifndef KVPAGE_TESTS_SUPPORT_FIBER_H_
#define KVPAGE_TESTS_SUPPORT_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace kvpage::test {

// One place of execution that can be left and entered again.
class FiberContext {
 public:
  // The context of the calling OS thread itself.
  FiberContext();
  FiberContext(const FiberContext&) = delete;
  FiberContext& operator=(const FiberContext&) = delete;

  // Leaves `from`, which must be running, and continues `to`. Returns when something switches back.
  static void Switch(FiberContext& from, FiberContext& to);

 protected:
  struct NewStack {};
  explicit FiberContext(NewStack) {}
  void EnteredForTheFirstTime();

  ucontext_t context_ = {};
  void* fake_stack_ = nullptr;
  const void* stack_bottom_ = nullptr;
  size_t stack_size_ = 0;
  void* tsan_fiber_ = nullptr;
};

// A stack that runs one body after another; it is kept between runs because making one is slow.
class Fiber : public FiberContext {
 public:
  Fiber();
  ~Fiber();

  // What to run when the fiber is next switched to. The body ends by returning the context to
  // continue with; the fiber can then be prepared again.
  void Prepare(std::function<FiberContext*()> body) { body_ = std::move(body); }

 private:
  static void Trampoline(unsigned high, unsigned low);
  [[noreturn]] void Loop();

  std::unique_ptr<char[]> stack_;
  std::function<FiberContext*()> body_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_FIBER_H_
