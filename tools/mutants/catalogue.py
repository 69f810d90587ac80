# SPDX-License-Identifier: Apache-2.0
"""The mutants: what each breaks, how, and which test must notice."""

import dataclasses


@dataclasses.dataclass
class Mutant:
    name: str
    breaks: str
    edits: list  # of (file under include/kvpage/core, exact old text, new text)
    test: str
    filter: str


GATE = "tests/sched/gate_sched_test.cc"
GATE_WARP = "tests/sched/gate_warp_sched_test.cc"
POOL = "tests/sched/pool_sched_test.cc"
POOL_WARP = "tests/sched/pool_warp_sched_test.cc"
EARLY_RELEASE = "tests/sched/early_release_sched_test.cc"
EARLY_SETTLE = "tests/sched/early_settle_sched_test.cc"
STALE_HANDLE = "tests/sched/stale_handle_sched_test.cc"
BATCH = "tests/sched/batch_sched_test.cc"
TABLE = "tests/sched/table_sched_test.cc"
EXPORT = "tests/sched/export_sched_test.cc"
STEP = "tests/unit/grow_step_test.cc"
RELEASE = "tests/unit/release_rows_test.cc"
SHARING = "tests/unit/sharing_steps_test.cc"
DRAFT = "tests/unit/draft_test.cc"
DRAFT_SCHED = "tests/sched/draft_sched_test.cc"
COMMIT_RACE = "tests/sched/commit_race_sched_test.cc"
READER = "tests/sched/reader_sched_test.cc"
PENDING = "tests/unit/pending_blocks_test.cc"

_READ_GRANTED = """    for (uint32_t s = g.rank(); s < num_shards(); s += g.size()) {
      granted_sum += A::LoadRelaxed(granted(s));
    }
"""
_READ_SUPPLY = """      const uint64_t seen_supply = A::LoadRelaxed(supply(s));
      const uint64_t shows = Visible(seen_supply, A::LoadRelaxed(asked(s)));
      supply_sum += seen_supply;
"""
_GATHERED = "      if (take > 0) take = Attempt(s, 1, take, seen_supply);\n"
_SETTLE_HAND = "      if (count > 0) A::AddRelaxed(granted(s), uint64_t{count});\n"
_GIVE_BACK = "      if (count > kept) A::AddRelaxed(asked(base + g.rank()), kept - count);\n"
_SETTLE = (
    "    if (mine.count > 0) A::AddRelaxed(granted(mine.shard), uint64_t{mine.count});\n")
_F2 = "    A::FenceAcqRel();  // F2\n    g.Sync();\n    if (mine.count > 0)"
_F2_FOR_HANDS = "    A::FenceAcqRel();  // F2\n    g.Sync();\n    uint32_t slot = 0;\n"
_F2_NO_FENCE = "    g.Sync();\n    if (mine.count > 0)"
_UNDO = "    A::AddRelaxed(asked(s), uint64_t{taken} - most);\n"

MUTANTS = [
    # --- the exact gate ---
    Mutant("gate-supply-before-granted", "a scan reads every supply before any granted",
           [("gate_scan.h", _READ_GRANTED, ""),
            ("gate_scan.h", "    scan.bound =", _READ_GRANTED + "    scan.bound =")],
           GATE, "*InTime"),
    Mutant("gate-pairwise-scan", "a scan reads granted and supply shard by shard",
           [("gate_scan.h", _READ_GRANTED, ""),
            ("gate_scan.h", _READ_SUPPLY,
             "      granted_sum += A::LoadRelaxed(granted(s));\n" + _READ_SUPPLY)],
           GATE, "*InTime"),
    Mutant("gate-no-f3", "no fence between the two sweeps of a scan",
           [("gate_scan.h", "    A::FenceAcqRel();  // F3\n", "")], GATE, "*WeakMemory"),
    Mutant("gate-verdict-uses-asked", "Full is decided by what is asked, not what is granted",
           [("gate_scan.h", "granted_sum += A::LoadRelaxed(granted(s));",
             "granted_sum += A::LoadRelaxed(asked(s));")], GATE, "*InTime"),
    Mutant("gate-release-lowers", "a release lowers asked and granted instead of raising supply",
           [("exact_gate.h", "    A::AddRelaxed(supply(shard), n);\n",
             "    A::AddRelaxed(asked(shard), uint64_t{0} - n);\n"
             "    A::AddRelaxed(granted(shard), uint64_t{0} - n);\n")], GATE, "*InTime"),
    Mutant("gate-settles-when-taken", "a gatherer settles each part as soon as it has it",
           [("exact_gate.h", _GATHERED,
             _GATHERED + "      if (take > 0) A::AddRelaxed(granted(s), uint64_t{take});\n"),
            ("exact_gate.h", _SETTLE_HAND, ""),
            ("exact_gate.h", _GIVE_BACK,
             _GIVE_BACK.replace("if (count > kept)", "if (count > kept) A::AddRelaxed(granted(base "
                                "+ g.rank()), kept - count);\n      if (count > kept)"))],
           GATE, "*InTime"),
    Mutant("gate-no-undo", "a failed attempt stays in asked",
           [("gate_counters.h", _UNDO, "")], GATE, "*InTime"),
    Mutant("gate-undo-settles", "a failed attempt is settled as well",
           [("gate_counters.h", _UNDO, _UNDO + "    A::AddRelaxed(granted(s), uint64_t{most} - taken);\n")],
           GATE, "*InTime"),
    Mutant("gate-no-settle", "a success is not settled",
           [("exact_gate.h", _SETTLE, "")], GATE, "*InTime"),
    Mutant("gate-keeps-last-part", "the last part of a hand is not given back",
           [("exact_gate.h", "if (count > kept) A::AddRelaxed(",
             "if (count > kept && base + g.rank() + 1 < num_shards()) A::AddRelaxed(")],
           GATE, "*InTime"),
    Mutant("gate-any-is-enough", "an attempt succeeds if anything is left",
           [("gate_counters.h", "if (Covers(seen_supply, before, most)) return most;",
             "if (Covers(seen_supply, before, 1)) return most;")], GATE, "*InTime"),
    Mutant("gate-no-unlock", "a gatherer keeps the lock",
           [("exact_gate.h", "    if (g.rank() == 0) A::StoreRelaxed(lock(), uint64_t{0});\n",
             "    (void)g;\n")],
           GATE, "*InTime"),
    Mutant("gate-narrow-verdict", "the sums of a verdict have two bits",
           [("gate_scan.h", "static_cast<int64_t>(g.Sum(supply_sum) - g.Sum(granted_sum));",
             "static_cast<int64_t>((g.Sum(supply_sum) - g.Sum(granted_sum)) & 3);")],
           GATE, "*InTime"),
    Mutant("gate-no-lock", "everybody gathers at once",
           [("exact_gate.h",
             "A::LoadRelaxed(lock()) == 0 && A::ExchangeRelaxed(lock(), uint64_t{1}) == 0;",
             "true;")], GATE, "*BusyForEver"),
    Mutant("gate-hand-not-kept", "a gatherer gives its hand back after each pass",
           [("exact_gate.h", "        return false;\n      }\n      A::Pause(attempt);\n",
             "        return false;\n      }\n      GiveBack(g, 0, hand);\n      held = 0;\n"
             "      A::Pause(attempt);\n")], GATE, "*KeepsItsHand"),
    Mutant("gate-no-precheck", "the loop attempts shards that do not show enough",
           [("gate_scan.h", "if (shows >= least && scan.distance == kNone) {",
             "if (scan.distance == kNone) {")], GATE, "*BusyForEver"),
    Mutant("gate-no-f2", "no fence between an attempt and its settlement",
           [("exact_gate.h", _F2, _F2_NO_FENCE)], GATE, "*WeakMemory"),
    Mutant("gate-leader-settles", "lane 0 settles what another lane's attempt took",
           [("exact_gate.h", "    Settle(g, mine);\n    return OpStatus::kOk;\n",
             "    const uint32_t count = g.Sum(mine.count);\n"
             "    Settle(g, Grant{shard, g.rank() == 0 ? count : 0});\n"
             "    return OpStatus::kOk;\n")],
           EARLY_SETTLE, "*AttemptingLaneSaw"),
    Mutant("gate-no-meeting", "lane 0 asks before the other lanes have come",
           [("exact_gate.h", "    g.Sync();\n    if (g.rank() != 0) return {home, 0};\n",
             "    if (g.rank() != 0) return {home, 0};\n")], EARLY_SETTLE, "*LaneReleased"),
    Mutant("gate-asks-too-early", "lane 0 asks while another lane waits in a request of its own",
           [("exact_gate.h", "    g.Sync();\n    if (g.rank() != 0) return {home, 0};\n",
             "    if (g.rank() != 0) return {home, 0};\n")], POOL_WARP, "*BlocksHandBlocksOver*"),
    Mutant("gate-hand-no-first-fence", "a lane brings nothing it saw to the settlement of a hand",
           [("exact_gate.h", "    A::FenceAcqRel();\n    g.Sync();\n    A::FenceAcqRel();  // F2\n",
             "    g.Sync();\n    A::FenceAcqRel();  // F2\n")], EARLY_SETTLE, "*AllLanesSaw"),
    Mutant("gate-hand-no-sync", "the lanes do not meet before they settle a hand",
           [("exact_gate.h", "    A::FenceAcqRel();\n    g.Sync();\n    A::FenceAcqRel();  // F2\n",
             "    A::FenceAcqRel();\n    A::FenceAcqRel();  // F2\n")],
           EARLY_SETTLE, "*AllLanesSaw"),
    Mutant("gate-hand-no-f2", "no fence between the lanes' meeting and their settlements",
           [("exact_gate.h", _F2_FOR_HANDS, "    g.Sync();\n    uint32_t slot = 0;\n")],
           EARLY_SETTLE, "*AllLanesSaw"),
    Mutant("gate-no-sync-in-scan", "lanes sweep supply before all lanes have swept granted",
           [("gate_scan.h", "    A::FenceAcqRel();  // F3\n    g.Sync();\n",
             "    A::FenceAcqRel();  // F3\n")], GATE_WARP, "*WeakMemory"),
    Mutant("gate-part-offsets", "the parts of a request overlap",
           [("exact_gate.h", "      offset += total;\n", "")], GATE, "*InTime"),
    Mutant("batch-no-slack", "a batch says Full without asking what else may be free",
           [("row_grants.h", "if (Decide(held, beside, kept)) break;",
             "if (Decide(held, 0, kept)) break;")], BATCH, "*InTime"),
    Mutant("batch-keeps-all", "a batch does not give back what its rows do not need",
           [("row_grants.h", "    gate.GiveBack(g_, kept, hand_);\n", "")], BATCH, "*InTime"),
    Mutant("step-overruns-list", "a step lists more ids than the list holds",
           [("grow_step.h",
             "    if (num_blocks > table_.storage().num_ids()) return false;\n", "")],
           STEP, "*MoreBlocksThanItsList*"),
    Mutant("release-heeds-status", "a warp passes over a row in which another found a double free",
           [("release_rows.h", "      if (count == 0) return EntrySpan{};\n",
             "      if (count == 0 || !rows.ok(place)) return EntrySpan{};\n")],
           RELEASE, "*ADoubleFreeSeenByOneWarp*"),
    Mutant("release-step-trusts-order", "rows in any order are taken for different ones",
           [("row_agreement.h", "return !b.Any(!is_ascending);", "return !b.Any(size == ~0u);")],
           SHARING, "*ACluster*"),
    Mutant("release-step-all-do-it", "every cluster does the batches for which one has to meet",
           [("release_step.h", "      if (block >= num_blocks) return true;", "      if (block >= "
             "num_blocks) block -= num_blocks;")], SHARING, "*DoNotMeet*"),
    Mutant("release-step-forgets-warps", "a warp counts on the uppermost for a block it has not",
           [("release_strips.h", "      if (uppermost >> kIdShift == run.id) times = 0;\n",
             "      if (uppermost != ~uint64_t{0}) times = 0;\n")], SHARING, "*OneBlock*"),
    Mutant("fork-step-forgets-warps", "a warp counts on the uppermost for a block it has not",
           [("fork_step.h", "rank())] >> kIdShift == run.id) return;",
             "rank())] != ~uint64_t{0}) return;")], SHARING, "*OneBlock*"),
    Mutant("fork-step-own-order", "each place is judged by what others have published",
           [("fork_step.h", "    if (is_place) Judge(row, i);\n", ""),
            ("fork_step.h", "    ClearCopies();\n    b.Sync();",
             "    if (is_place) Judge(row, i);\n    ClearCopies();\n    b.Sync();")],
           SHARING, "*OneBlock*"),
    # --- free bits ---
    Mutant("bits-no-second-look", "who clears a summary bit does not look at the leaf again",
           [("free_bits.h", "    if (A::LoadRelaxed(&s_.leaves[leaf]) != 0) A::OrRelease(Summary("
             "leaf), SummaryBit(leaf));\n", "")], POOL, "*InTime"),
    Mutant("bits-summary-relaxed", "a summary bit is set without release",
           [("free_bits.h", "if (old == 0) A::OrRelease(", "if (old == 0) A::FetchOrRelaxed(")],
           POOL, "*SeesEverything*"),
    Mutant("bits-clear-relaxed", "a summary bit is cleared without acquire",
           [("free_bits.h", "A::FetchAndAcquire(", "A::FetchAndRelaxed(")],
           POOL, "*SeesEverything*"),
    Mutant("bits-wrong-summary-bit", "summary bits are numbered over all shards",
           [("free_bits.h", "(leaf & ((1u << leaf_shift_) - 1) & 63)", "(leaf & 63)")],
           POOL, "*InTime"),
    Mutant("bits-blind-claim", "a claim takes for its own what another has claimed",
           [("free_bits.h", "    return old & bits;\n  }\n\n  // `n` of",
             "    return bits;\n  }\n\n  // `n` of")], POOL, "*InTime"),
    Mutant("pool-credit-before-bits", "a block is credited before its bit is set",
           [("freed_blocks.h", "      bits.Put(leaf, blocks);\n", ""),
            ("freed_blocks.h", "PopCount(blocks));\n",
             "PopCount(blocks));\n      bits.Put(leaf, blocks);\n")],
           POOL, "*AtOnce"),
    # --- order between the owners of a block ---
    Mutant("pool-no-f0", "a holder lets go without release",
           [("block_words.h", "    if (fences) A::FenceAcqRel();\n", "")],
           POOL, "*SeesEverything*"),
    Mutant("pool-no-f2", "a block is taken without acquire",
           [("exact_gate.h", _F2, _F2_NO_FENCE)], POOL, "*SeesEverything*"),
    Mutant("pool-no-f2-for-hands", "blocks of several shards are taken without acquire",
           [("exact_gate.h", "    A::FenceAcqRel();\n    g.Sync();\n" + _F2_FOR_HANDS,
             "    uint32_t slot = 0;\n")], POOL, "*SeesEverything*"),
    Mutant("pool-no-f0-of-several", "one of several holders lets go without release",
           [("block_words.h", "    if (fences) A::FenceAcqRel();\n", "")], POOL, "*LastHolder*"),
    Mutant("pool-no-sync-after-f2", "a lane uses a block before the lane that claimed it acquired",
           [("exact_gate.h", _F2, "    A::FenceAcqRel();  // F2\n    if (mine.count > 0)")],
           POOL_WARP, "*HandBlocksOver*"),
    Mutant("pool-no-sync-before-release", "a lane lets go of a block that other lanes still use",
           [("block_pool_ref.h", "    g.Sync();  // the lanes may all have used each block: their "
             "accesses come before it is let go\n", "")], EARLY_RELEASE, "*"),
    Mutant("pool-own-after-f2", "a block's word is read after the fence that acquires it",
           [("block_pool_ref.h", "      mine = Deal(w, claimed, w.rank());\n", ""),
            ("block_pool_ref.h", "      gate_.Settle(g, grant);\n      return mine;\n",
             "      gate_.Settle(g, grant);\n      return Deal(w, claimed, w.rank());\n"),
            ("block_pool_ref.h", "    return mine != kNullBlock ? mine : other;\n",
             "    mine = Deal(w, claimed, w.rank());\n"
             "    return mine != kNullBlock ? mine : other;\n")],
           POOL_WARP, "*Share*"),
    # --- block words ---
    Mutant("words-no-generation", "a stale handle can release a block",
           [("block_words.h",
             "      if (generation != kAnyGeneration && (!seen.owned() || !Matches(seen, generation))) {\n"
             "        return {OpStatus::kStale, false};\n      }\n", "")],
           POOL, "*SeesEverything*"),
    Mutant("words-share-no-generation", "a stale handle can share a block",
           [("block_words.h",
             "if (!seen.owned() || !Matches(seen, generation)) return OpStatus::kStale;",
             "if (!seen.owned()) return OpStatus::kStale;")],
           POOL, "*SeesEverything*"),
    Mutant("words-no-double-free-check", "a block that nobody holds can be released",
           [("block_words.h",
             "      if (seen.references < count) return {OpStatus::kDoubleFree, false};\n", "")],
           POOL, "*DoubleFree"),
    Mutant("words-own-reads-nothing", "the first reference is added without reading the word",
           [("block_words.h", "A::FetchAddRelaxed(Word(id), kLife + 1);",
             "A::AddRelaxed(Word(id), kLife + 1);")], POOL_WARP, "*Share*"),
    Mutant("words-share-adds", "a share by handle adds to whatever life the block is in by then",
           [("block_words.h", "      if (generation == kAnyGeneration) {\n",
             "      {\n")], STALE_HANDLE, "*AShareEnds*"),
    Mutant("words-share-adds-beside-full", "a share that came too late keeps the block from all",
           [("block_words.h", "      if (generation == kAnyGeneration) {\n",
             "      if (generation != kAnyGeneration) {\n"
             "        const BlockState old = BlockState::Parse(A::FetchAddRelaxed(Word(id), n));\n"
             "        if (old.owned() && Matches(old, generation)) return OpStatus::kOk;\n"
             "        A::AddRelaxed(Word(id), uint32_t{0} - n);\n"
             "        return OpStatus::kStale;\n"
             "      } else {\n")], STALE_HANDLE, "*DoesNotHide*"),
    Mutant("words-drop-adds", "a release by handle takes from whatever life the block is in",
           [("block_words.h", "if (generation == kAnyGeneration && seen.references > count) {",
             "if (seen.references > count) {")], STALE_HANDLE, "*ALateRelease*"),
    # --- page table ---
    Mutant("table-publish-relaxed", "a row's new length is published without release",
           [("page_table_ref.h", "A::StoreRelease(SequenceWord(row), state.Word());",
             "A::StoreRelaxed(SequenceWord(row), state.Word());")], TABLE, "*"),
    Mutant("table-read-relaxed", "a row's length is read without acquire",
           [("page_table_ref.h", "SequenceState::Parse(A::LoadAcquire(SequenceWord(row)))",
             "SequenceState::Parse(A::LoadRelaxed(SequenceWord(row)))")], TABLE, "*"),
    # --- drafts ---
    Mutant("draft-junk-shape", "a row that never had a draft has the shape that lay in memory",
           [("page_table_ref.h", "      s_.draft_shapes[row] = 0;\n", "")],
           DRAFT, "*NeverHadOne*"),
    Mutant("draft-take-shared", "two commits of a row both find its draft open",
           [("page_table_ref.h",
             "        A::FetchAndRelaxed(SequenceWord(row), ~SequenceState::kDraftingBit));",
             "        A::LoadRelaxed(SequenceWord(row)));")], DRAFT_SCHED, "*EqualAnswers*"),
    Mutant("draft-keeps-branches", "a commit forgets the other branches",
           [("draft_entries.h", "branch = 0; w.Any(", "branch = 0; branch < 1 && w.Any(")],
           DRAFT, "*OtherBranches*"),
    Mutant("draft-keeps-tail", "a commit forgets the tail that it replaces",
           [("commit_draft.h", "      table_.SetDraftEntry(draft.row, draft.branch, n, old);\n",
             "      table_.SetDraftEntry(draft.row, draft.branch, n, kNullBlock);\n")],
           DRAFT, "*TailThatItReplaces*"),
    Mutant("draft-keeps-generation", "a commit that replaces an entry does not tell the readers",
           [("commit_draft.h", "        state.generation += replaced;\n", "")],
           DRAFT, "*TailThatItReplaces*"),
    Mutant("draft-no-fence", "a commit makes blocks free that its fence should hold",
           [("commit_draft.h", "    set = g_.Shuffle(set, g_.size() - 1);\n",
             "    set = PendingBlocksRef<A>::kNoSet;\n")], DRAFT, "*HeedsItsFence*"),
    Mutant("draft-publish-first", "a row's length is published before its accepted blocks",
           [("commit_draft.h", "      const bool replaced = ok && PlaceKept(draft);\n",
             "      if (ok) {\n        SequenceState early = draft.state;\n"
             "        early.drafting = false;\n"
             "        early.kv_len += static_cast<int32_t>(draft.tokens);\n"
             "        table_.Publish(draft.row, early);\n      }\n"
             "      const bool replaced = ok && PlaceKept(draft);\n")],
           DRAFT_SCHED, "*EqualAnswers*"),
    Mutant("draft-no-f0", "no fence between the accepted blocks and the length",
           [("commit_draft.h", "      A::FenceAcqRel();  // F0, and the release of the entries\n",
             "")], DRAFT_SCHED, "*EqualAnswers*"),
    Mutant("draft-first-lane-wins", "the quickest lane wins a row that stands twice",
           [("commit_draft.h", "lost |= draft.status == OpStatus::kWrongState;",
             "lost |= false;")], DRAFT, "*AlsoIfItComesLast*"),
    Mutant("draft-first-mention-wins", "a bad first mention keeps a good second one from the row",
           [("commit_draft.h", "      if (statuses[i] != OpStatus::kOk) continue;\n      A::FenceAcqRel",
             "      if (statuses[i] == OpStatus::kClosed) continue;\n      A::FenceAcqRel")],
           DRAFT_SCHED, "*EqualAnswers*"),
    Mutant("race-take-shared", "two batches both find a row's draft open",
           [("page_table_ref.h",
             "        A::FetchAndRelaxed(SequenceWord(row), ~SequenceState::kDraftingBit));",
             "        A::LoadRelaxed(SequenceWord(row)));")], COMMIT_RACE, "*"),
    Mutant("race-keeps-taken", "a batch that asks again keeps what it took before",
           [("commit_draft.h",
             "      if (statuses[i] == OpStatus::kOk) table.GiveBackDraft(numbers[i]);\n", "")],
           COMMIT_RACE, "*"),
    Mutant("race-keeps-claim", "a batch that asks again leaves its claims behind",
           [("commit_draft.h", "    A::StoreRelaxed(claim, PageTableRef<A>::kUnclaimed);\n", "")],
           COMMIT_RACE, "*"),
    Mutant("race-looks-apart", "each lane decides for itself whether an epoch has completed",
           [("pending_blocks.h", "mine.completed = w.Shuffle(completed, 0);",
              "mine.completed = completed;")], COMMIT_RACE, "*"),
    Mutant("draft-outlives-row", "a closed row keeps the blocks of its draft",
           [("release_rows.h", "g_.Any(some_drafts)) ReleaseDrafts(rows);",
             "g_.Any(some_drafts)) return;")], DRAFT, "*OfItsRows*"),
    Mutant("draft-audit-jealous", "an audit takes a draft's block that the caller holds for an error",
           [("audit.h", "!pool_.words().State(id).owned()) {\n        ++row_errors;\n"
             "        continue;\n      }\n      ++entries;\n      A::AddRelaxed(&outside_[id - 1], "
             "1u);\n    }\n    Add(&report_->open_rows",
             "pool_.words().State(id).references != 1) {\n        ++row_errors;\n"
             "        continue;\n      }\n      ++entries;\n      A::AddRelaxed(&outside_[id - 1], "
             "1u);\n    }\n    Add(&report_->open_rows")], DRAFT, "*HoldsItToo"),
    # --- fences ---
    Mutant("pending-completes-backwards", "an epoch that is signalled late undoes younger ones",
           [("pending_blocks.h", "    while (completed < epoch && !A::",
             "    while (completed != epoch && !A::")], PENDING, "*EarlierEpochLater*"),
    Mutant("pending-ignores-younger", "an epoch without a set does not join a younger one",
           [("pending_blocks.h", "if (younger != kDraining) return",
             "if (younger == 0) return")], PENDING, "*NextYounger*"),
    Mutant("pending-oldest-waits", "the oldest epoch waits for a younger one, not the youngest",
           [("pending_blocks.h", "label > mine.older_label) {", "label < mine.older_label) {")],
           PENDING, "*NeedsTheirSet*"),
    Mutant("pending-drains-all", "blocks become free before their epoch has completed",
           [("pending_blocks.h", "mine = label <= Completed() && A::", "mine = A::")],
           PENDING, "*NotBefore*"),
    Mutant("pending-keeps-count", "drained blocks still count as pending",
           [("pending_blocks.h", "        A::AddRelaxed(Count(set), uint64_t{0} - drained);\n", "")],
           PENDING, "*NotBefore*"),
    Mutant("pending-no-credit", "drained blocks are not credited",
           [("pending_blocks.h", "        gate.Credit(shard, PopCount(blocks));\n", "")],
           PENDING, "*AllBecomeFree*"),
    Mutant("retry-one-too-few", "a request that needs one more than there will be is told to retry",
           [("pending_blocks.h", "n <= there + NumPending() ?", "n <= there + NumPending() + 1 ?")],
           PENDING, "*FullAndRetry*"),
    Mutant("retry-by-first-shortage", "all rows of a warp are judged by what the first one found",
           [("row_grants.h", "FullOrRetry(wants, left - before + beside));",
             "FullOrRetry(wants, left + beside));")], DRAFT, "*WhatEachRowFinds*"),
    # --- readers beside operations ---
    Mutant("reader-no-f0", "no fence between the accepted blocks and the length",
           [("commit_draft.h", "      A::FenceAcqRel();  // F0, and the release of the entries\n",
             "")], READER, "*"),
    Mutant("reader-publish-first", "a row's length is published before its accepted blocks",
           [("commit_draft.h", "      const bool replaced = ok && PlaceKept(draft);\n",
             "      if (ok) {\n        SequenceState early = draft.state;\n"
             "        early.drafting = false;\n"
             "        early.kv_len += static_cast<int32_t>(draft.tokens);\n"
             "        table_.Publish(draft.row, early);\n      }\n"
             "      const bool replaced = ok && PlaceKept(draft);\n")], READER, "*"),
    Mutant("reader-commit-generation", "a commit that replaces an entry does not tell the readers",
           [("commit_draft.h", "        state.generation += replaced;\n", "")], READER, "*"),
    Mutant("reader-truncate-generation", "a row that gets shorter does not tell the readers",
           [("release_rows.h", "      ++state.generation;\n", ""),
            ("release_step.h", "      ++row.state.generation;\n", "")], READER, "*"),
    Mutant("reader-commit-no-fence", "a commit makes blocks free that its fence should hold",
           [("commit_draft.h", "    set = g_.Shuffle(set, g_.size() - 1);\n",
             "    set = PendingBlocksRef<A>::kNoSet;\n")], READER, "*"),
    Mutant("reader-drains-all", "blocks become free before their epoch has completed",
           [("pending_blocks.h", "mine = label <= Completed() && A::", "mine = A::"),
            ("pending_blocks.h", "due |= count != 0 && label <= completed;",
             "due |= count != 0;")], READER, "*"),
    Mutant("reader-complete-no-fence", "an epoch completes without what its readers did",
           [("pending_blocks.h",
             "    A::FenceAcqRel();\n    uint64_t completed = A::LoadRelaxed(s_.words);\n",
             "    uint64_t completed = A::LoadRelaxed(s_.words);\n")], READER, "*"),
    Mutant("reader-looks-once", "a reader does not look at the row's word again",
           [("page_table_ref.h", "return StillHolds(row, state) && is_whole;", "return is_whole;")],
           READER, "*"),
    Mutant("reader-looks-early", "a reader may look at the word again before it has the entries",
           [("page_table_ref.h", "    A::FenceAcqRel();  // the entries are read before the word\n",
             "")], READER, "*"),
    Mutant("reader-takes-null", "a reader takes an entry that is being cleared for a block",
           [("page_table_ref.h", "StillHolds(row, state) && is_whole;", "StillHolds(row, state);")],
           READER, "*"),
    # --- exports ---
    Mutant("export-no-meeting", "lanes read entries without having met the one that read the word",
           [("export_reader.h", "    g.Sync();  // the entries are read after the word\n", "")],
           EXPORT, "*"),
]
