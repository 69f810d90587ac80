// SPDX-License-Identifier: Apache-2.0
//
// The message histories and views of WeakMemory. The newest value of every word is also kept in
// the word itself, so that plain code may look at it when no thread is running.

#include "tests/support/weak_memory.h"

#include <cstring>
#include <utility>

namespace kvpage::test {

WeakMemory::WeakMemory(uint32_t num_threads, uint32_t stale_percent, Random& random)
    : threads_(num_threads), stale_percent_(stale_percent), random_(random) {
  for (uint32_t t = 0; t < num_threads; ++t) threads_[t].now.Raise(t, 1);
}

WeakMemory::Word& WeakMemory::Find(const void* address, uint32_t bytes) {
  auto [it, is_new] = words_.try_emplace(address);
  Word& word = it->second;
  if (is_new) {
    word.bytes = bytes;
    word.slot = threads_.size() + words_.size() - 1;
    uint64_t value = 0;
    std::memcpy(&value, address, bytes);
    word.history.push_back({value, 0, View()});
  }
  return word;
}

const WeakMemory::Message& WeakMemory::Choose(const Thread& thread, const Word& word) {
  const std::vector<Message>& history = word.history;
  size_t oldest = history.size() - 1;
  if (stale_percent_ == 0) return history[oldest];
  const uint32_t seen = thread.now.Get(word.slot);
  while (oldest > 0 && history[oldest].time > seen) --oldest;
  const auto choices = static_cast<uint32_t>(history.size() - oldest);
  if (choices == 1 || !random_.Percent(stale_percent_)) return history.back();
  return history[oldest + random_.Below(choices)];
}

void WeakMemory::Read(Thread& thread, const Word& word, const Message& message, bool acquire) {
  thread.now.Raise(word.slot, message.time);
  (acquire ? thread.now : thread.kept).Join(message.view);
}

void WeakMemory::Append(uint32_t thread, Word& word, void* address, uint64_t value, bool release,
                        const View* passed_on) {
  Thread& self = threads_[thread];
  const uint32_t time = word.history.back().time + 1;
  View view = release ? self.now : self.released;
  if (passed_on != nullptr) view.Join(*passed_on);
  view.Raise(word.slot, time);
  self.now.Raise(word.slot, time);
  if (word.history.size() == kHistory) word.history.erase(word.history.begin());
  word.history.push_back({value, time, std::move(view)});
  std::memcpy(address, &value, word.bytes);
}

// Plain accesses after a release must not look as if they were part of it.
void WeakMemory::Tick(uint32_t thread) { threads_[thread].now.Raise(thread, Clock(thread) + 1); }

uint64_t WeakMemory::Load(uint32_t thread, const void* address, uint32_t bytes, bool acquire) {
  const Word& word = Find(address, bytes);
  const Message& message = Choose(threads_[thread], word);
  Read(threads_[thread], word, message, acquire);
  Tick(thread);
  return message.value;
}

void WeakMemory::Store(uint32_t thread, void* address, uint32_t bytes, uint64_t value,
                       bool release) {
  Append(thread, Find(address, bytes), address, value, release, nullptr);
  Tick(thread);
}

uint64_t WeakMemory::Update(uint32_t thread, void* address, uint32_t bytes, Gain gain, bool release,
                            const std::function<uint64_t(uint64_t)>& next) {
  Word& word = Find(address, bytes);
  const Message newest = word.history.back();
  if (gain != Gain::kNothing) Read(threads_[thread], word, newest, gain == Gain::kAtOnce);
  Append(thread, word, address, next(newest.value), release, &newest.view);
  Tick(thread);
  return newest.value;
}

bool WeakMemory::CompareExchange(uint32_t thread, void* address, uint32_t bytes, uint64_t& expected,
                                 uint64_t value) {
  Word& word = Find(address, bytes);
  // A failure is only a load, and may be of an old message.
  const Message& seen = Choose(threads_[thread], word);
  const bool is_newest_wanted = word.history.back().value == expected;
  if (seen.value != expected || !is_newest_wanted) {
    const Message& failed = seen.value != expected ? seen : word.history.back();
    Read(threads_[thread], word, failed, false);
    Tick(thread);
    expected = failed.value;
    return false;
  }
  Update(thread, address, bytes, Gain::kByFence, false, [value](uint64_t) { return value; });
  return true;
}

void WeakMemory::Fence(uint32_t thread) {
  Thread& self = threads_[thread];
  self.now.Join(self.kept);
  self.released = self.now;
  Tick(thread);
}

void WeakMemory::Barrier(const std::vector<uint32_t>& threads) {
  View all;
  for (const uint32_t t : threads) all.Join(threads_[t].now);
  for (const uint32_t t : threads) {
    threads_[t].now.Join(all);
    Tick(t);
  }
}

}  // namespace kvpage::test
