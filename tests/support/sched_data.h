// SPDX-License-Identifier: Apache-2.0
//
// tests/support/sched_data.h
//
// A plain, non-atomic variable whose accesses are checked under the seeded scheduler: reading or
// writing it is a data race, and fails the run, unless the last write (for a write also every read
// since) happened before. It stands for the KV memory of a block.

#ifndef KVPAGE_TESTS_SUPPORT_SCHED_DATA_H_
#define KVPAGE_TESTS_SUPPORT_SCHED_DATA_H_

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tests/support/scheduler.h"

namespace kvpage::test {

// REQUIRES: a variable is used in one run only, besides plain use while no scheduler runs.
template <class T>
class SchedData {
 public:
  SchedData() = default;
  explicit SchedData(T value) : value_(value) {}

  T Read() const {
    if (Scheduler* scheduler = Scheduler::Current()) {
      CheckAfterWrite(*scheduler, "read");
      reads_[scheduler->self()] = scheduler->memory().Clock(scheduler->self());
    }
    return value_;
  }

  void Write(T value) {
    if (Scheduler* scheduler = Scheduler::Current()) {
      CheckAfterWrite(*scheduler, "write");
      for (const auto& [reader, time] : reads_) {
        if (!scheduler->memory().HappenedBefore(reader, time, scheduler->self())) {
          scheduler->Fail("data race: write while thread " + std::to_string(reader) + " reads");
        }
      }
      reads_.clear();
      writer_ = scheduler->self();
      write_time_ = scheduler->memory().Clock(writer_);
    }
    value_ = value;
  }

 private:
  void CheckAfterWrite(Scheduler& scheduler, const char* access) const {
    if (write_time_ == 0 ||
        scheduler.memory().HappenedBefore(writer_, write_time_, scheduler.self())) {
      return;
    }
    scheduler.Fail(std::string("data race: ") + access + " of what thread " +
                   std::to_string(writer_) + " writes");
  }

  T value_{};
  uint32_t writer_ = 0;
  uint32_t write_time_ = 0;  // 0: not written in this run
  mutable std::unordered_map<uint32_t, uint32_t> reads_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SCHED_DATA_H_
