#!/usr/bin/env python3
"""Breaks one ordering or one check after the other, and asks the models.

Each fault is a change to a copy of the sources under target/models-faults. A fault that none of its
models notices fails, and so does one whose text is not in the sources any more.
"""

import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "models-faults"
SOURCES = "crates/brimful/src"
# No fault takes longer to be noticed; the whole of a model takes less.
LONGEST_S = 600
# With locks in a circle, the checker that gives up an execution may wait for them itself, or panic once more.
HANGS_AFTER_S = 120


class Fault:
    def __init__(self, name, what, model, file, old, new, may_hang=False):
        """`model` is the test binary and a part of a test's name, or parts of several names: for each, one
        test must notice the fault."""
        self.name, self.what, self.model, self.may_hang = name, what, model, may_hang
        self.file, self.old, self.new = f"{SOURCES}/{file}", old, new


# Models of sets that are lines of four slots for one limit, and of others.
BOTH_SHAPES = [
    f"::{model}::{shape}"
    for model in (
        "acquire_and_acquire",
        "acquire_and_evict",
        "acquire_and_forced_evict",
        "insert_and_insert",
        "insert_and_insert_elsewhere",
        "refund_and_acquire",
        "reset_and_acquire",
        "reset_and_reset",
        "all_and_all",
        "all_and_acquire",
        "times_that_cross",
    )
    for shape in ("plain", "wide")
]

FAULTS = [
    Fault(
        "unlock-relaxed",
        "a set is unlocked without Release",
        ("two", *BOTH_SHAPES, "all_and_reset", "share_and_share"),
        "store/sets.rs",
        "word.store(word.load(Ordering::Relaxed) & !LOCK, Ordering::Release);",
        "word.store(word.load(Ordering::Relaxed) & !LOCK, Ordering::Relaxed);",
    ),
    Fault(
        "lock-relaxed",
        "a set is locked without Acquire",
        ("two", "acquire_and_acquire"),
        "store/sets.rs",
        "word.compare_exchange(seen, seen | LOCK, Ordering::Acquire, Ordering::Relaxed)",
        "word.compare_exchange(seen, seen | LOCK, Ordering::Relaxed, Ordering::Relaxed)",
    ),
    Fault(
        "known-unchecked",
        "the short way does not look at the fingerprint again under the lock",
        ("two", "acquire_and_evict::plain"),
        "store/plain.rs",
        "if fingerprint != request.fingerprint || is_marked {",
        "if is_marked {",
    ),
    Fault(
        "known-stale-clock",
        "the short way does not read the clock again when the key was changed later",
        ("parts", "a_waiting_thread"),
        "store/plain.rs",
        "if waited || now < state.last {",
        "if waited {",
    ),
    Fault(
        "newcomer-unchecked",
        "a newcomer to a line does not look for its key again under both locks",
        ("two", "insert_and_insert::plain"),
        "store/plain.rs",
        "if is_known || !rows.are_fixed() {",
        "if !rows.are_fixed() {",
    ),
    Fault(
        "attempt-unchecked",
        "a newcomer does not look for its key again under both locks",
        ("two", "insert_and_insert::wide"),
        "store/attempt.rs",
        "let found: Option<Slot> = pair.find(fingerprint).and_then(|(set, slot)| set.read(slot));",
        "let found: Option<Slot> = None;",
    ),
    Fault(
        "refund-twice-locked",
        "a refund writes under another lock than it read under",
        ("two", "refund_and_acquire"),
        "store/mod.rs",
        """        let rows = request.rows.hold();
        let Some(plan) = rows.plan(home.row) else { return 0 };
""",
        """        drop(pair);
        let mut pair = self.lock_pair(request.fingerprint);
        let Some((set, slot)) = pair.find(request.fingerprint) else { return 0 };
        let rows = request.rows.hold();
        let Some(plan) = rows.plan(home.row) else { return 0 };
""",
    ),
    Fault(
        "reset-twice-locked",
        "a reset clears under another lock than it looked under",
        ("two", "reset_and_reset"),
        "store/mod.rs",
        """        self.empty(set, slot, &rows.hold(), self.runs().get());
        self.flood.end();
        true
""",
        """        let index = set.index();
        drop(pair);
        self.empty(&mut self.sets.lock(index), slot, &rows.hold(), self.runs().get());
        self.flood.end();
        true
""",
    ),
    Fault(
        "pair-as-it-comes",
        "the two sets of a key are not locked in the order of their indices",
        ("two", "two_newcomers_from_both_sides"),
        "store/mod.rs",
        """        let low = self.sets.lock(a.min(b));
        let high = (a != b).then(|| self.sets.lock(a.max(b)));
""",
        """        let low = self.sets.lock(a);
        let high = (a != b).then(|| self.sets.lock(b));
""",
    ),
    Fault(
        "all-last-first",
        "the sets of several keys are locked from the last to the first",
        ("two", "all_and_reset"),
        "store/all/locked.rs",
        "indices.sort_unstable();",
        "indices.sort_unstable_by_key(|i| (*i == usize::MAX, usize::MAX - *i));",
        may_hang=True,
    ),
    Fault(
        "move-one-by-one",
        "a key that is moved is for a moment in both sets, with neither locked",
        ("two", "moves::the_mover_is_charged"),
        "store/room.rs",
        """        target.write(slot, &content);
""",
        """        target.write(slot, &content);
        drop(pair);
        let mut pair = self.lock_two(from, to);
""",
    ),
    Fault(
        "move-unlooked",
        "a key is moved to a slot that was free when it was searched for",
        ("two", "moves::the_slot_is_taken"),
        "store/room.rs",
        "let Some(slot) = free else { return false };",
        "let slot = free.unwrap_or(3);",
    ),
    Fault(
        "flood-ends-early",
        "a slot that comes free ends the note that was taken, not the one that is being taken",
        ("two", "a_search_that_was_overtaken"),
        "store/flood.rs",
        "self.soonest.store(0, Ordering::Relaxed);",
        "self.until.store(0, Ordering::Relaxed);",
    ),
    Fault(
        "flood-notes-relaxed",
        "who sees that notes were taken need not see them",
        ("parts", "a_flood_is_believed"),
        "store/flood.rs",
        "let is_noting = self.version.load(Ordering::Acquire) & 1 == 1;",
        "let is_noting = self.version.load(Ordering::Relaxed) & 1 == 1;",
    ),
    Fault(
        "flood-two-notes",
        "two searches take notes at once",
        ("parts", "searches_do_not_undo"),
        "store/flood.rs",
        "let is_free = version & 1 == 0",
        "let is_free = true",
    ),
    Fault(
        "shared-twice-locked",
        "a shared state is written under another lock than it was read under",
        ("two", "share_and_share"),
        "store/attempt.rs",
        """        let mut content = content.unwrap_or(Slot::new(0, row, now));
""",
        """        let mut content = content.unwrap_or(Slot::new(0, row, now));
        drop(set);
        let Some(mut set) = self.lock_shared(row, request.rows) else {
            return self.refuse(0, Origin::NONE, request.peek);
        };
""",
    ),
    Fault(
        "runs-twice-locked",
        "entries of a log are taken under another lock than they were counted under",
        ("two", "logs::the_last_entry"),
        "store/mod.rs",
        """            plan.apply(&mut home.state, &ruling, arena);
""",
        """            drop(runs);
            runs = self.runs();
            plan.apply(&mut home.state, &ruling, runs.get());
""",
    ),
    Fault(
        "given-let-go",
        "limits that came with a call are not in use while the call goes on",
        ("two", "given::"),
        "limiter/given.rs",
        "let (row, rows) = (given.row, &self.rows);",
        "let (row, rows) = (given.row, &self.rows);\n        drop(given);",
    ),
    Fault(
        "counted-together",
        "threads count in one place as if each had its own",
        ("two", "acquire_and_acquire"),
        "stats.rs",
        "let place = if is_alone { number } else { ALONE + number % SHARED };",
        "let place = 0;",
    ),
    Fault(
        "ticks-unfenced",
        "the words of a reading may be seen before the version that says they are being written",
        ("parts", "readers_never_see_half"),
        "clock/ticks.rs",
        "        fence(Ordering::Release);\n",
        "",
    ),
    Fault(
        "ticks-unchecked",
        "the version is not looked at again after the words of a reading",
        ("parts", "readers_never_see_half"),
        "clock/ticks.rs",
        "version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed);",
        "version.is_multiple_of(2);",
    ),
    Fault(
        "resolved-unheld",
        "the rules may be replaced between what they say and what is written",
        ("two", "replace_and_insert::plain", "replace_and_insert::wide"),
        "limiter.rs",
        "        match self.store.newcomer_plain(row, &request) {",
        "        drop(in_force);\n        match self.store.newcomer_plain(row, &request) {",
    ),
    Fault(
        "not-gone-through",
        "the sets are not gone through",
        ("two", "replace_and_acquire::wide"),
        "limiter/rules.rs",
        "        self.store.let_go(&self.rows, now);\n",
        "",
    ),
    Fault(
        "generation-unlooked",
        "the short way takes the row of any rules",
        ("two", "replace_and_acquire::after_a_newcomer"),
        "rows/brief.rs",
        "is_scope && self.generation.load(Ordering::Relaxed) == caller.generation",
        "is_scope",
    ),
    Fault(
        "known-unmarked",
        "the short way does not look at the mark",
        ("two", "nobody_comes_between::plain"),
        "store/plain.rs",
        "if fingerprint != request.fingerprint || is_marked {",
        "if fingerprint != request.fingerprint {",
    ),
    Fault(
        "refilled-unmarked",
        "a newcomer to a line takes the slot of a key for which somebody waits",
        ("two", "poll_and_evict::plain"),
        "store/plain.rs",
        """            !is_marked
                && terms
                    .is_some_and(""",
        """            terms
                    .is_some_and(""",
    ),
    Fault(
        "free-unasked",
        "a slot is free although somebody waits for its key",
        ("two", "poll_and_evict::plain", "poll_and_evict::wide"),
        "store/room.rs",
        "is_full && !self.is_waited_for(set, slot)",
        "is_full",
    ),
    Fault(
        "evict-unasked",
        "a key is forgotten although somebody waits for it",
        ("two", "enqueue_and_forced_evict"),
        "store/full.rs",
        "if content.is_marked && self.store.is_waited_for(set, slot) {",
        "if false {",
    ),
    Fault(
        "mark-unwritten",
        "who waits leaves no mark in the slot",
        ("two", "nobody_comes_between::plain", "poll_and_evict::wide", "enqueue_and_forced_evict"),
        "store/beside.rs",
        "            *is_marked = !(receipts.is_empty() && line.is_empty());\n",
        "",
    ),
    Fault(
        "mark-moved-without",
        "a key that is moved loses its mark",
        ("two", "moved::poll"),
        "store/room.rs",
        "        let content = self.with_lasting_row(content, &rows);\n",
        "        let content = Slot { is_marked: false, ..self.with_lasting_row(content, &rows) };\n",
    ),
    Fault(
        "mark-taken-later",
        "the mark is taken from a slot under another lock than it was looked at",
        ("two", "commit_and_enqueue"),
        "store/turns.rs",
        "        let (told, is_empty) = self.beside.take_told(fingerprint, id);\n",
        """        let (told, is_empty) = self.beside.take_told(fingerprint, id);
        drop(pair);
        let mut pair = self.lock_pair(fingerprint);
""",
    ),
    Fault(
        "beside-twice-locked",
        "what is given back is written under another lock than it was read under",
        ("two", "cancel_and_acquire"),
        "store/turns.rs",
        "        let mut home: Slot = set.read(place)?;\n",
        """        let mut home: Slot = set.read(place)?;
        drop(pair);
        let mut pair = self.lock_pair(request.fingerprint);
        let (set, place) = pair.find(request.fingerprint)?;
""",
    ),
    Fault(
        "granted-unwoken",
        "who is granted by others is not woken",
        ("two", "sleep_and_acquire::plain", "poll_and_give_back"),
        "store/line.rs",
        "told.tell(id, decision, first.waker.take());",
        "told.tell(id, decision, None);",
    ),
    Fault(
        "sooner-unwoken",
        "who is due sooner is not woken",
        ("two", "leave_and_poll", "leave_and_leave"),
        "store/line.rs",
        "first.rings_at = due;\n                        told.wake(first.waker.take());",
        "first.rings_at = due;",
    ),
    Fault(
        "unarmed",
        "the waker of one who asks again is not kept",
        ("two", "sleep_and_acquire::plain", "leave_and_poll", "close_and_poll"),
        "store/visit.rs",
        "self.line.arm(&self.scene, id, is_anew, waker)",
        "self.line.arm(&self.scene, id, is_anew, &mut None)",
    ),
    Fault(
        "close-unwoken",
        "who waits is not woken when waiting ends",
        ("two", "close_and_poll", "drop_and_poll"),
        "store/line.rs",
        "told.tell(waiter.id, Decision::CLOSED, waiter.waker.take());",
        "told.tell(waiter.id, Decision::CLOSED, None);",
    ),
    Fault(
        "close-announced-late",
        "who begins to wait is not told that all others are being let go",
        ("two", "close_and_enqueue"),
        "store/beside.rs",
        """        self.is_closed.store(true, Ordering::Relaxed);
        for shard in std::iter::once(&self.first).chain(&self.more) {
""",
        """        struct Last<'a>(&'a AtomicBool);
        impl Drop for Last<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _last = Last(&self.is_closed);
        for shard in std::iter::once(&self.first).chain(&self.more) {
""",
    ),
    Fault(
        "replaced-unwoken",
        "who waits is not woken when the rules are replaced",
        ("two", "sleep_and_replace"),
        "limiter/rules.rs",
        "            self.store.wake_all();\n",
        "",
    ),
    Fault(
        "replaced-unlooked",
        "who goes to sleep does not look whether the rules were replaced meanwhile",
        ("two", "sleep_and_replace"),
        "limiter/wait.rs",
        "waits if limiter.rows.generation() == other => return waits,",
        "waits if other == other => return waits,",
    ),
    Fault(
        "leave-keeps",
        "who was granted and goes does not give its tokens back",
        ("two", "leave_when_granted_and_acquire", "leave_and_acquire"),
        "store/visit.rs",
        "            self.settle(id, 0);\n",
        "",
    ),
    Fault(
        "claim-in-two-steps",
        "who is refused a place has it for a moment",
        ("two", "receipts::the_last_place"),
        "store/beside.rs",
        "    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()\n",
        """    let is_there = more(count.fetch_add(1, Ordering::Relaxed)).is_some();
    if !is_there {
        count.fetch_sub(1, Ordering::Relaxed);
    }
    is_there
""",
    ),
    Fault(
        "woken-at-once",
        "wakers are called with what is beside slots locked",
        ("two", "waiting::wakers_are_called_with_no_lock_held"),
        "store/beside.rs",
        "self.wakes.wanted.extend(waker);",
        "waker.into_iter().for_each(Waker::wake);",
        may_hang=True,
    ),
    Fault(
        "dropped-at-once",
        "wakers are dropped with what is beside slots locked",
        ("two", "waiting::wakers_are_called_with_no_lock_held"),
        "store/beside.rs",
        "self.wakes.unwanted.extend(waker);",
        "drop(waker);",
        may_hang=True,
    ),
    Fault(
        "woken-by-rules",
        "wakers are called with the rules locked",
        ("two", "waiting::wakers_are_called_with_no_lock_held"),
        "limiter.rs",
        """        let mut wakes;
        let in_force = sync::read(&self.rules);
""",
        """        let in_force = sync::read(&self.rules);
        let mut wakes;
""",
        may_hang=True,
    ),
    Fault(
        "woken-by-rules-of-all",
        "the same for calls of several keys",
        ("two", "waiting::wakers_are_called_with_no_lock_held"),
        "limiter/all.rs",
        "self.store.acquire_all(&call, &mut wakes)",
        "self.store.acquire_all(&call, &mut Wakes::default())",
        may_hang=True,
    ),
]


def copy_sources():
    for part in (SOURCES, "crates/brimful/examples", "models"):
        target = COPY / part
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(ROOT / part, target, ignore=shutil.ignore_patterns("target"))


def noticed(fault):
    """What the models say, by name; a name is missing when none of its tests notices anything."""
    path = COPY / fault.file
    before = path.read_text()
    if before.count(fault.old) != 1:
        sys.exit(f"models/faults.py: {fault.name}: its text is {before.count(fault.old)} times in {fault.file}")
    path.write_text(before.replace(fault.old, fault.new))
    binary, *models = fault.model
    command = ["cargo", "test", "--locked", "--manifest-path", str(COPY / "models/Cargo.toml")]
    command += ["--target-dir", str(COPY / "target"), "--test", binary]
    longest = HANGS_AFTER_S if fault.may_hang else LONGEST_S
    try:
        built = subprocess.run([*command, "--no-run"], capture_output=True, text=True)
        if built.returncode != 0:
            sys.exit(f"models/faults.py: {fault.name} does not build:\n{built.stderr}")
        run = subprocess.run([*command, "--", *models], capture_output=True, text=True, timeout=longest)
    except subprocess.TimeoutExpired:
        if fault.may_hang:
            return {model: f"hangs for {longest} s" for model in models}
        sys.exit(f"models/faults.py: {fault.name}: {', '.join(models)} took more than {longest} s")
    finally:
        path.write_text(before)
    if fault.may_hang and "SIGABRT" in run.stderr:
        return {model: "aborts" for model in models}
    said = panics(run.stdout)
    for model in models:
        if not any(model in line for line in run.stdout.splitlines() if line.startswith("test ")):
            sys.exit(f"models/faults.py: {fault.name}: no model is named {model}")
    found = {model: [text for test, text in said.items() if model in f"::{test}"] for model in models}
    return {model: texts[0] for model, texts in found.items() if texts}


def panics(output):
    """The first line of each failed test's panic, by test; not that of a race that was none."""
    found = {}
    lines = output.splitlines()
    for at, line in enumerate(lines[:-1]):
        if line.startswith("thread '") and "panicked at" in line and "nothing raced" not in lines[at + 1]:
            found.setdefault(line.split("'")[1], lines[at + 1])
    return found


def main():
    names = sys.argv[1:]
    unknown = [name for name in names if name not in [fault.name for fault in FAULTS]]
    if unknown:
        sys.exit(f"models/faults.py: no fault is named {unknown[0]}; there are: {', '.join(f.name for f in FAULTS)}")
    copy_sources()
    missed = []
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    for fault in chosen:
        start = time.monotonic()
        said = noticed(fault)
        print(f"{fault.name}: {fault.what} ({time.monotonic() - start:.0f} s)")
        for model in fault.model[1:]:
            print(f"    {model}: {said.get(model, 'NOT NOTICED')}", flush=True)
            if model not in said:
                missed.append(f"{fault.name} by {model}")
    if missed:
        sys.exit(f"not noticed: {', '.join(missed)}")
    print(f"{len(chosen)} faults, all noticed")


main()
