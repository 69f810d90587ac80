// SPDX-License-Identifier: Apache-2.0
//
// How the seeded scheduler runs its fibers; who is next is decided in scheduler_turns.cc.

#include "tests/support/scheduler.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace kvpage::test {
namespace {

thread_local Scheduler* current_scheduler = nullptr;
// Stacks of earlier runs, to be used again.
thread_local std::vector<std::unique_ptr<Fiber>> spare_fibers;

constexpr size_t kTraceSteps = 200;

std::unique_ptr<Fiber> TakeFiber() {
  if (spare_fibers.empty()) return std::make_unique<Fiber>();
  std::unique_ptr<Fiber> fiber = std::move(spare_fibers.back());
  spare_fibers.pop_back();
  return fiber;
}

}  // namespace

Scheduler::Scheduler(const Options& options)
    : options_(options), random_(options.seed), host_(std::make_unique<FiberContext>()) {}

Scheduler::~Scheduler() {
  for (Thread& thread : threads_) spare_fibers.push_back(std::move(thread.fiber));
}

Scheduler* Scheduler::Current() { return current_scheduler; }

uint32_t Scheduler::Spawn(std::function<void()> body) {
  threads_.emplace_back();
  threads_.back().body = std::move(body);
  threads_.back().fiber = TakeFiber();
  return static_cast<uint32_t>(threads_.size() - 1);
}

bool Scheduler::Run() {
  static constexpr uint32_t kStale[] = {20, 50, 80};
  const uint32_t stale = options_.is_weak ? kStale[random_.Below(3)] : 0;
  memory_ = std::make_unique<WeakMemory>(static_cast<uint32_t>(threads_.size()), stale, random_);
  PlanTurns();
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    threads_[t].fiber->Prepare([this, t] { return RunThread(t); });
  }
  current_scheduler = this;
  const uint32_t first = NextTurn(false);
  if (first != kNobody) {
    self_ = first;
    FiberContext::Switch(*host_, *threads_[first].fiber);
  }
  current_scheduler = nullptr;
  return failure_.empty();
}

FiberContext* Scheduler::RunThread(uint32_t thread) {
  try {
    if (!is_aborting_) threads_[thread].body();
  } catch (const Aborted&) {
  }
  threads_[thread].is_done = true;
  const uint32_t next = NextTurn(true);
  if (next == kNobody) return host_.get();
  self_ = next;
  return threads_[next].fiber.get();
}

void Scheduler::SwitchTo(uint32_t thread) {
  if (thread == self_) return;
  const uint32_t from = self_;
  self_ = thread;
  FiberContext::Switch(*threads_[from].fiber, *threads_[thread].fiber);
}

void Scheduler::TakeStep(bool is_waiting) {
  if (is_aborting_) throw Aborted();
  if (++steps_ > options_.max_steps) Fail("livelock: the step limit is reached");
  SwitchTo(NextTurn(is_waiting));
  if (is_aborting_) throw Aborted();
}

void Scheduler::Step() { TakeStep(false); }
void Scheduler::Pause() { TakeStep(true); }

void Scheduler::Sleep() {
  threads_[self_].is_asleep = true;
  TakeStep(true);
}

void Scheduler::SetFailure(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = what + " (scheduler seed " + std::to_string(options_.seed) + ")\n" + Trace();
}

void Scheduler::Fail(const std::string& what) {
  SetFailure("thread " + std::to_string(self_) + ": " + what);
  is_aborting_ = true;
  throw Aborted();
}

void Scheduler::Note(const char* verb, const void* word, uint64_t value) {
  if (trace_.size() < kTraceSteps) trace_.emplace_back();
  trace_[noted_++ % kTraceSteps] = {self_, verb, word, value};
}

std::string Scheduler::Trace() const {
  std::ostringstream out;
  out << "last steps (thread, verb, word, value read or written):\n";
  for (size_t i = 0; i < trace_.size(); ++i) {
    const Noted& step = trace_[(noted_ + i) % trace_.size()];
    out << "  " << step.thread << "  " << step.verb;
    const auto name = names_.find(step.word);
    if (name != names_.end()) {
      out << " " << name->second;
    } else if (step.word != nullptr) {
      out << " " << step.word;
    }
    out << " " << static_cast<int64_t>(step.value) << "\n";
  }
  return out.str();
}

}  // namespace kvpage::test
