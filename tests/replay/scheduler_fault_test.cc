// SPDX-License-Identifier: Apache-2.0
//
// A cache that fails, or that answers what cannot be, is found out at once.

#include <gtest/gtest.h>

#include <string>

#include "tests/replay/serving.h"

namespace kvpage::test {
namespace {

constexpr KvCacheOptions kSeven = {
    .num_blocks = 7, .block_tokens = 1, .max_sequences = 4, .max_blocks_per_sequence = 100};

// Serves two requests that need a preemption, with the `nth` answer of an operation replaced.
absl::Status ServeWith(Operation operation, int nth, OpStatus from, OpStatus to) {
  Serving s({MakeRequest(4, 2), MakeRequest(3, 2), MakeRequest(8, 1)}, kSeven, {});
  bool replaced = false;
  s.cache->set_fault([&](const Call& call, OpStatus* statuses) {
    for (size_t i = 0; i < call.statuses.size(); ++i) {
      if (call.operation != operation || statuses[i] != from || replaced || nth-- > 0) continue;
      statuses[i] = to;
      replaced = true;
    }
    return absl::OkStatus();
  });
  const absl::Status status = s.Run();
  EXPECT_TRUE(replaced);
  return status;
}

TEST(SchedulerFaultTest, TheScenarioItselfIsServed) {
  // A replacement that changes nothing.
  EXPECT_TRUE(ServeWith(Operation::kReserve, 0, OpStatus::kOk, OpStatus::kOk).ok());
}

TEST(SchedulerFaultTest, FullThoughThereIsRoomIsAnError) {
  EXPECT_TRUE(absl::IsInternal(ServeWith(Operation::kReserve, 0, OpStatus::kOk, OpStatus::kFull)));
}

TEST(SchedulerFaultTest, OkForWhatCannotFitIsAnError) {
  EXPECT_TRUE(
      absl::IsInternal(ServeWith(Operation::kReserve, 0, OpStatus::kNeverFits, OpStatus::kOk)));
}

TEST(SchedulerFaultTest, FullForWhatCanNeverFitIsAnError) {
  EXPECT_TRUE(
      absl::IsInternal(ServeWith(Operation::kReserve, 0, OpStatus::kNeverFits, OpStatus::kFull)));
}

TEST(SchedulerFaultTest, NeverFitsForWhatFitsIsAnError) {
  EXPECT_TRUE(
      absl::IsInternal(ServeWith(Operation::kReserve, 0, OpStatus::kOk, OpStatus::kNeverFits)));
}

TEST(SchedulerFaultTest, AnyOtherAnswerToAnAppendIsAnErrorThatNamesIt) {
  for (OpStatus status : {OpStatus::kNeverFits, OpStatus::kTableFull, OpStatus::kInvalid,
                          OpStatus::kClosed, OpStatus::kCancelled}) {
    const absl::Status found = ServeWith(Operation::kAppend, 0, OpStatus::kOk, status);
    EXPECT_TRUE(absl::IsInternal(found));
    EXPECT_NE(std::string(found.message()).find(OpStatusName(status)), std::string::npos);
  }
}

TEST(SchedulerFaultTest, ACloseThatFailsIsAnError) {
  EXPECT_TRUE(
      absl::IsInternal(ServeWith(Operation::kClose, 0, OpStatus::kOk, OpStatus::kDoubleFree)));
}

TEST(SchedulerFaultTest, FullForARequestThatIsAloneIsAnErrorAndNoEndlessLoop) {
  Serving s({MakeRequest(4, 2)}, kSeven, {});
  s.cache->set_fault([](const Call& call, OpStatus* statuses) {
    if (call.operation == Operation::kAppend) statuses[0] = OpStatus::kFull;
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsInternal(s.Run()));
}

TEST(SchedulerFaultTest, ACallThatFailsIsPassedOn) {
  for (Operation operation : {Operation::kReserve, Operation::kAppend, Operation::kClose}) {
    Serving s({MakeRequest(4, 2)}, kSeven, {});
    s.cache->set_fault([&](const Call& call, OpStatus*) {
      return call.operation == operation ? absl::UnavailableError("gone") : absl::OkStatus();
    });
    EXPECT_TRUE(absl::IsUnavailable(s.Run()));
  }
}

TEST(SchedulerFaultTest, AStreamThatFailsIsPassedOn) {
  Serving s({MakeRequest(4, 2)}, kSeven, {});
  s.cache->set_synchronize_status(absl::UnavailableError("gone"));
  EXPECT_TRUE(absl::IsUnavailable(s.Run()));
}

}  // namespace
}  // namespace kvpage::test
