"""Watches the memory of a run's processes for tests/bench/large_state, and makes its table.

    large_state_watch.py watch ANCESTOR RUN OUT     looks ten times a second until it is ended; one line for each look
    large_state_watch.py table OUT HOLD BAR BYTES PHASE...    prints the rows; ends with 1 where a bar (MiB) is missed

OUT has two kinds of lines, tab separated, both beginning with the seconds since the epoch:

    TIME memory NAME PID BYTES      a process descended from ANCESTOR; NAME: of its node, storage, spawner or command
    TIME sign WORD SUBJECT          metrics.jsonl has another step or event; `saving` and `saved`: a checkpoint's folder

BYTES are anonymous and shared memory (RssAnon + RssShmem), not the pages of mapped files, which cost nobody anything.
They are the most since the look before: the kernel keeps the peak of the resident memory, and 5 in clear_refs begins it
anew. Where that is forbidden they are those of the moment, and where the kernel tells only the resident memory (VmRSS),
they are that: pages of files are in it, before as after.
"""

import json
import os
import sys
import time

PERIOD_S = 0.1
MIB = 1 << 20
BEFORE_SAVING_S = 3  # the first piece is made before storage has a folder for it
RESTS_S = 2


def words_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().decode(errors="replace").split("\0")


def name_of(words):
    if "internal-storage" in words:
        return "storage"
    if "internal-spawner" in words:
        return "spawner"
    if words[0].endswith("shoal-worker") and "--name" in words:
        return words[words.index("--name") + 1]
    if words[0].endswith("shoal") and words[1:2] == ["spawner"]:
        return "command"
    return None


def descendants(ancestor):
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(entry))
    found, open_ = [], [ancestor]
    while open_:
        of_one = children.get(open_.pop(), [])
        found += of_one
        open_ += of_one
    return found


def peak_bytes(pid):
    """The most since the call before."""
    sizes = {}
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(("RssAnon:", "RssShmem:", "RssFile:", "VmHWM:", "VmRSS:")):
                key, value = line.split()[:2]
                sizes[key[:-1]] = int(value) * 1024
    if not {"RssAnon", "RssShmem", "RssFile", "VmHWM"} <= sizes.keys():
        return sizes["VmRSS"]
    now = sizes["RssAnon"] + sizes["RssShmem"]
    try:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return now
    return max(now, sizes["VmHWM"] - sizes["RssFile"])


class Signs:
    """What a run says of itself since it was asked last."""

    def __init__(self, run):
        self.metrics = os.path.join(run, "metrics.jsonl")
        self.checkpoints = os.path.join(run, "checkpoints")
        self.read_to = 0
        self.seen = set()

    def new(self):
        return self.lines() + self.folders()

    def lines(self):
        try:
            with open(self.metrics, "rb") as file:
                file.seek(self.read_to)
                text = file.read()
        except OSError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self.read_to += len(whole)
        found = []
        for line in whole.splitlines():
            fields = json.loads(line)
            if "step_ms" in fields:
                found.append(("step", str(fields["step"])))
            elif "event" in fields:
                found.append((fields["event"], str(fields.get("subject", ""))))
        return found

    def folders(self):
        try:
            names = os.listdir(self.checkpoints)
        except OSError:
            return []
        found = []
        for name in names:
            is_saved = os.path.exists(os.path.join(self.checkpoints, name, "manifest.json"))
            word = "saving" if name.endswith(".partial") else "saved" if is_saved else None
            step = name.lstrip(".").split(".")[0]
            if word and (word, step) not in self.seen:
                self.seen.add((word, step))
                found.append((word, step))
        return found


def watch(ancestor, run, out):
    signs, names = Signs(run), {}
    with open(out, "w", buffering=1) as file:
        while os.path.exists(f"/proc/{ancestor}"):
            now = time.time()
            for pid in descendants(ancestor):
                try:
                    name = names[pid] = names.get(pid) or name_of(words_of(pid))
                    if name:
                        file.write(f"{now:.3f}\tmemory\t{name}\t{pid}\t{peak_bytes(pid)}\n")
                except (OSError, KeyError, IndexError, ValueError):
                    continue  # it has ended, or is about to
            for word, subject in signs.new():
                file.write(f"{now:.3f}\tsign\t{word}\t{subject}\n")
            time.sleep(max(0.0, now + PERIOD_S - time.time()))


class Record:
    def __init__(self, path):
        self.memory, self.signs = [], []
        with open(path) as file:
            for line in file:
                if not line.endswith("\n"):
                    continue
                fields = line[:-1].split("\t")
                if fields[1] == "memory":
                    self.memory.append((float(fields[0]), fields[2], int(fields[3]), int(fields[4])))
                else:
                    self.signs.append((float(fields[0]), fields[2], fields[3]))

    def sign(self, word, subject="", after=0.0):
        """When it was first seen; nothing: never."""
        for when, said, of in self.signs:
            if when >= after and said == word and of.startswith(subject):
                return when
        return None

    def steps_between(self, first, last):
        """Steps whose lines came in between."""
        return [int(of) for when, said, of in self.signs if said == "step" and first < when <= last]

    def values(self, name, first, last):
        return [size for when, of, _, size in self.memory if of == name and first <= when <= last]

    def begins(self, name, after=0.0):
        return next((when for when, of, _, _ in self.memory if of == name and when >= after), None)


class Table:
    def __init__(self, bar):
        self.bar, self.is_missed = bar, False

    def head(self):
        print("| phase | process | at rest, MiB | most of a step | peak | extra | seconds | bar |")
        print("|---|---|---|---|---|---|---|---|")

    def row(self, phase, process, figures):
        """figures: rest, most of a step or None, peak, extra, seconds, and whether the bar holds for it."""
        rest, most, peak, extra, seconds, has_bar = figures
        over = has_bar and extra > self.bar * MIB
        self.is_missed |= over
        bar = "" if not has_bar else f"{self.bar} MISSED" if over else str(self.bar)
        whole = "" if most is None else f"{most / MIB:.0f}"
        print(f"| {phase} | {process} | {rest / MIB:.0f} | {whole} | {peak / MIB:.0f} | {extra / MIB:+.0f} "
              f"| {seconds:.1f} | {bar} |")

    def wrong(self, text):
        self.is_missed = True
        print(f"WRONG: {text}")


class Undisturbed:
    """The second step of the run: everything was used once, and no state is under way."""

    def __init__(self, record, hold):
        self.record, self.hold = record, hold
        self.began = record.sign("step", "0")

    def rest(self, name):
        """The most while the other stage computes."""
        return max(self.record.values(name, self.began + 0.25 * self.hold, self.began + 0.75 * self.hold), default=0)

    def most(self, name):
        """The most of a whole step: the end of the first one and the begin of the second."""
        return max(self.record.values(name, self.began - 0.75 * self.hold, self.began + 0.75 * self.hold), default=0)


def committed_words(steps, state_bytes):
    if not steps:
        return "no step was committed meanwhile, so no sum was under way"
    return (f"steps {steps} were committed meanwhile: the donor copied what was not sent when each changed the state, "
            f"and a joiner was sent their sums, {state_bytes / 3 / MIB:.0f} MiB each")


def is_seen(record, table, name, first, last):
    """Without a look nothing is known: where /proc does not tell the memory, or the watcher has ended."""
    is_there = max(record.values(name, first, last), default=0) > 0
    if not is_there:
        table.wrong(f"nobody saw the memory of {name}")
    return is_there


def save_rows(record, table, plain, state_bytes):
    began, ended = record.sign("saving", "step_2"), record.sign("saved", "step_2")
    if began is None or ended is None:
        return table.wrong("the checkpoint after 2 steps was not seen while it was saved")
    if not all(is_seen(record, table, name, began - BEFORE_SAVING_S, ended) for name in ("donor", "storage")):
        return None
    steps = [step for step in record.steps_between(began, ended) if step > 1]
    peak = max(record.values("donor", began - BEFORE_SAVING_S, ended), default=0)
    extra = peak - plain.most("donor")
    if not steps:  # the donor rests but for its forward
        within = record.values("donor", began + 2 * PERIOD_S, ended)
        extra = max(extra, max(within, default=0) - plain.rest("donor"))
    seconds = ended - began
    table.row("save", "the replica that saves", (plain.rest("donor"), plain.most("donor"), peak, extra, seconds, True))
    most = plain.most("storage")
    peak = max(record.values("storage", began - BEFORE_SAVING_S, ended + 0.5), default=0)
    table.row("save", "storage", (plain.rest("storage"), most, peak, peak - plain.rest("storage"), seconds, True))
    return f"save: {committed_words(steps, state_bytes)}"


def copy_rows(record, table, plain, state_bytes):
    began = record.begins("joiner")
    ended = record.sign("replica_added", "stage/0", began or 0.0)
    if began is None or ended is None:
        return table.wrong("the joiner was not added to its stage")
    if not all(is_seen(record, table, name, began, ended + RESTS_S) for name in ("donor", "joiner")):
        return None
    steps = record.steps_between(began, ended)
    rest, most = plain.rest("donor"), plain.most("donor")
    peak = max(record.values("donor", began, ended), default=0)
    table.row("copy", "donor", (rest, most, peak, peak - (most if steps else rest), ended - began, True))
    rest = min(record.values("joiner", ended, ended + RESTS_S), default=0)
    peak = max(record.values("joiner", began, ended), default=0)
    table.row("copy", "joiner", (rest, None, peak, peak - rest, ended - began, True))
    return f"copy: {committed_words(steps, state_bytes)}"


def restore_rows(record, table, plain, hold):
    began = record.begins("taker")
    ended = record.sign("training", "", began or 0.0)
    if began is None or ended is None:
        return table.wrong("the run was not resumed")
    for name, words in (("taker", "the replica that takes it"), ("storage", "storage"), ("spawner", "spawner"),
                        ("command", "`shoal spawner`")):
        first = began if name == "taker" else record.begins("command", record.sign("finished") or 0.0)
        rest = min(record.values(name, ended + 2 * PERIOD_S, ended + hold / 2), default=0)
        if name == "storage":
            rest = min(rest, plain.rest(name))  # what it keeps of the state afterwards is extra, too
        peak = max(record.values(name, first, ended + 2 * PERIOD_S), default=0)
        table.row("restore", words, (rest, None, peak, peak - rest, ended - began, name in ("taker", "storage")))
    return None


def main():
    if sys.argv[1] == "watch":
        return watch(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    hold, bar, state_bytes = float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    record, table, phases = Record(sys.argv[2]), Table(bar), sys.argv[6:]
    plain = Undisturbed(record, hold)
    table.head()
    notes = []
    if "save" in phases:
        notes.append(save_rows(record, table, plain, state_bytes))
    if "copy" in phases:
        notes.append(copy_rows(record, table, plain, state_bytes))
    if "restore" in phases:
        notes.append(restore_rows(record, table, plain, hold))
    print("\n".join(note for note in notes if note))
    return 1 if table.is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
