// The moves of sum_moves.h, in the order in which a sum comes about.
#include "tests/protocol/sum/sum_moves.h"

#include <algorithm>

namespace shoal::protocol::sum {
namespace {

constexpr const char* kNotOnce = "S-1: a sum has a contribution not exactly once";
constexpr const char* kOtherOrder = "P-15: a part of one order entered the sum of another";
constexpr int kMarksMax = 6;  // of one member in one epoch; a number more is no new case

std::string named(int member) { return "m" + std::to_string(member); }

std::string told(const Letter& letter) {
  const std::string bucket = "bucket " + std::to_string(letter.bucket) + " hop " + std::to_string(letter.hop);
  switch (letter.kind) {
    case Kind::kPart: return "the part of " + bucket;
    case Kind::kMark: return "the mark " + std::to_string(letter.value);
    case Kind::kLack: return "the question for " + bucket;
  }
  return {};
}

Byte byte(int value) { return static_cast<Byte>(value); }

}  // namespace

void SumMoves::all() {
  for (int m = 0; m < kMembersMax; ++m) {
    if (now_.members[m].is_alive) obey_orders(m);
  }
  take_letters();
  for (int m = 0; m < kMembersMax; ++m) {
    if (now_.members[m].is_alive) repeat_reduce(m);
  }
  if (is_calm()) return;
  lose_letters();
  change_members();
}

void SumMoves::move(const State& next, const std::string& story) { sink_.take(next, broken_, story); }

// P-15: a higher order, and whatever was summed before is dropped. Prepare, manifests and Reduce are one move here.
void SumMoves::obey_orders(int m) {
  for (int epoch = now_.members[m].epoch + 1; epoch <= now_.epoch; ++epoch) {
    if ((now_.members_of[epoch] >> m & 1) == 0) continue;
    State next = now_;
    begin(next, m, epoch);
    move(next, named(m) + " obeys order " + std::to_string(epoch));
  }
}

// Buckets that begin at this member go out at once.
void SumMoves::begin(State& next, int m, int epoch) const {
  Member& member = next.members[m];
  member = Member{};
  member.is_alive = 1;
  member.epoch = byte(epoch);
  const Place place = place_of(next, m, epoch);
  for (int b = 0; b < model_.scope.buckets; ++b) {
    if (place.size == 1) {
      member.whole[b] = byte(1 << m);
    } else if (place.distance(b) == 0) {
      member.passage[b] = kPassed;
      next.send({byte(m), byte(place.successor), Kind::kPart, byte(epoch), byte(b), 0, byte(1 << m)});
    }
  }
}

bool SumMoves::is_head(int index) const {
  return index == 0 || !now_.letters[index].is_of_way(now_.letters[index - 1]);
}

// A letter of a higher order waits for that order, as held parts do. Without mark_behind a mark need not be the first.
void SumMoves::take_letters() {
  for (int i = 0; i < now_.letter_count; ++i) {
    const Letter letter = now_.letters[i];
    const Member& to = now_.members[letter.to];
    const bool may_overtake = !rules_.mark_behind && letter.kind == Kind::kMark;
    if (!is_head(i) && !may_overtake) continue;
    State next = now_;
    next.take(i);
    if (!to.is_alive) {
      move(next, told(letter) + " finds nobody");
      continue;
    }
    if (letter.epoch > to.epoch) continue;
    receive(next, letter);
    move(next, named(letter.to) + " takes " + told(letter) + " from " + named(letter.from));
  }
}

void SumMoves::receive(State& next, const Letter& letter) {
  const Member& to = now_.members[letter.to];
  if (letter.epoch != to.epoch && (rules_.order_match || letter.kind != Kind::kPart)) return;
  switch (letter.kind) {
    case Kind::kPart: return receive_part(next, letter);
    case Kind::kMark: return receive_mark(next, letter);
    case Kind::kLack: return receive_question(next, letter);
  }
}

void SumMoves::receive_part(State& next, const Letter& part) {
  const int m = part.to;
  const Place place = place_of(next, m, next.members[m].epoch);
  const int distance = place.distance(part.bucket);
  if (place.size == 1 || (rules_.order_match && part.from != place.predecessor)) return;
  if (distance > 0 && part.hop == distance - 1) add(next, m, part);
  if (distance < place.size - 1 && part.hop == place.size - 1 + distance) copy(next, m, part);
}

void SumMoves::add(State& next, int m, const Letter& part) {
  Member& member = next.members[m];
  const int b = part.bucket;
  if (rules_.part_once && (member.whole[b] != 0 || member.passage[b] == kPassed)) return;
  if (part.epoch != member.epoch) broken_ = kOtherOrder;
  const Place place = place_of(next, m, member.epoch);
  Letter total = part;
  total.value = byte(part.value | (1 << m) | ((part.value >> m & 1) != 0 ? kTwice : 0));
  member.passage[b] = kPassed;
  const bool completes = place.distance(b) == place.size - 1;
  if (completes) keep_whole(next, m, b, member.whole[b] != 0 ? byte(total.value | kTwice) : total.value);
  pass_on(next, m, total, completes);
}

void SumMoves::copy(State& next, int m, const Letter& part) {
  Member& member = next.members[m];
  if (member.whole[part.bucket] != 0) return;
  if (part.epoch != member.epoch) broken_ = kOtherOrder;
  keep_whole(next, m, part.bucket, part.value);
  const Place place = place_of(next, m, member.epoch);
  if (part.hop + 1 <= 2 * place.size - 3) pass_on(next, m, part, true);
}

void SumMoves::keep_whole(State& next, int m, int bucket, Byte value) {
  Member& member = next.members[m];
  member.whole[bucket] = value;
  if (value != next.members_of[member.epoch]) broken_ = kNotOnce;
}

// To the successor with the next hop; it is noted which marks went before.
void SumMoves::pass_on(State& next, int m, const Letter& like, bool is_whole) const {
  Member& member = next.members[m];
  const Place place = place_of(next, m, member.epoch);
  (is_whole ? member.whole_mark : member.partial_mark)[like.bucket] = member.marks;
  next.send({byte(m), byte(place.successor), Kind::kPart, member.epoch, like.bucket, byte(like.hop + 1), like.value});
}

// P-18a: on a repeated Reduce a mark goes behind all parts so far. In a calm run that is as often as one likes.
void SumMoves::repeat_reduce(int m) {
  const Member& member = now_.members[m];
  const bool is_in_force = member.epoch == now_.epoch && (now_.members_of[now_.epoch] >> m & 1) != 0;
  if (!is_in_force || (!is_calm() && now_.budget[kRepeat] == 0) || member.marks >= kMarksMax) return;
  const Place place = place_of(now_, m, member.epoch);
  if (place.size == 1) return;
  State next = now_;
  if (!is_calm()) --next.budget[kRepeat];
  const Byte number = ++next.members[m].marks;
  next.send({byte(m), byte(place.successor), Kind::kMark, member.epoch, 0, 0, number});
  move(next, named(m) + " is told to reduce again, sends mark " + std::to_string(number));
}

// Asks for what is not there when the mark comes.
void SumMoves::receive_mark(State& next, const Letter& mark) const {
  const Member& member = next.members[mark.to];
  const Place place = place_of(next, mark.to, member.epoch);
  if (mark.from != place.predecessor || !rules_.lacks_is_asked) return;
  for (int b = 0; b < model_.scope.buckets; ++b) {
    if (member.whole[b] != 0) continue;
    const int distance = place.distance(b);
    const bool lacks_partial = distance > 0 && member.passage[b] != kPassed;
    const int hop = lacks_partial ? distance - 1 : place.size - 1 + distance;
    next.send({mark.to, mark.from, Kind::kLack, member.epoch, byte(b), byte(hop), mark.value});
  }
}

// Sends nothing again that was sent behind the mark: it is on its way.
void SumMoves::receive_question(State& next, const Letter& question) const {
  const Member& member = next.members[question.to];
  const Place place = place_of(next, question.to, member.epoch);
  if (question.from != place.successor) return;
  const bool is_for_whole = question.hop >= place.size - 1;
  const Byte sent_behind = (is_for_whole ? member.whole_mark : member.partial_mark)[question.bucket];
  const bool is_on_its_way = sent_behind > 0 && sent_behind >= question.value;
  if (!is_on_its_way || !rules_.mark_checked) give_again(next, question.to, question);
}

// Gives the whole if it has it, whatever was asked for. A partial sum is not kept: the predecessor is asked for it.
void SumMoves::give_again(State& next, int m, const Letter& question) const {
  Member& member = next.members[m];
  const Place place = place_of(next, m, member.epoch);
  const int b = question.bucket, distance = place.distance(b);
  const int whole_hop = (distance + 1) % place.size + place.size - 1;
  const bool is_for_partial = question.hop == distance && distance != place.size - 1;
  if (!is_for_partial && question.hop != whole_hop) return;
  Letter again = question;
  if (member.whole[b] != 0) {
    if (distance == place.size - 2 || (is_for_partial && !rules_.whole_for_partial)) return;
    again.hop = byte(whole_hop - 1);
    again.value = member.whole[b];
    pass_on(next, m, again, true);
  } else if (is_for_partial && member.passage[b] == kPassed && distance == 0) {
    (member.partial_mark)[b] = member.marks;
    next.send({byte(m), byte(place.successor), Kind::kPart, member.epoch, byte(b), 0, byte(1 << m)});
  } else if (is_for_partial && member.passage[b] == kPassed && rules_.again_asks) {
    member.passage[b] = kAwaitedAgain;
    next.send({byte(m), byte(place.predecessor), Kind::kLack, member.epoch, byte(b), byte(question.hop - 1), kAnyMark});
  }
}

// The first letter of a way, or all of it.
void SumMoves::lose_letters() {
  for (int i = 0; i < now_.letter_count; ++i) {
    const Letter letter = now_.letters[i];
    if (!is_head(i)) continue;
    if (now_.budget[kLoss] > 0) {
      State next = now_;
      --next.budget[kLoss];
      next.take(i);
      move(next, "*** " + told(letter) + " from " + named(letter.from) + " to " + named(letter.to) + " is lost");
    }
    const bool is_long = i + 1 < now_.letter_count && now_.letters[i + 1].is_of_way(letter);
    if (now_.budget[kBreak] == 0 || !is_long) continue;
    State next = now_;
    --next.budget[kBreak];
    for (int k = now_.letter_count - 1; k >= i; --k) {
      if (now_.letters[k].is_of_way(letter)) next.take(k);
    }
    move(next, "*** what " + named(letter.from) + " sent to " + named(letter.to) + " is lost");
  }
}

void SumMoves::change_members() {
  const int members = now_.members_of[now_.epoch];
  if (now_.epoch >= kEpochsMax) return;
  for (int m = 0; m < kMembersMax; ++m) {
    const bool is_last = members == 1 << m;
    if ((members >> m & 1) == 0 || is_last || now_.budget[kCrash] == 0) continue;
    State next = now_;
    next.members[m] = Member{};
    order_anew(next, members & ~(1 << m), kCrash, named(m) + " ends");
  }
  if (now_.budget[kJoin] > 0 && !now_.joined) {
    State next = now_;
    next.joined = 1;
    next.members[model_.scope.members].is_alive = 1;
    order_anew(next, members | 1 << model_.scope.members, kJoin, named(model_.scope.members) + " joins");
  }
  if (now_.budget[kAbort] > 0) {
    State next = now_;
    order_anew(next, members, kAbort, "the sum is given up");
  }
}

// P-20, P-19a
void SumMoves::order_anew(State& next, int members, Fault fault, const std::string& why) {
  --next.budget[fault];
  next.members_of[++next.epoch] = byte(members);
  move(next, "*** " + why + ": order " + std::to_string(next.epoch));
}

}  // namespace shoal::protocol::sum
