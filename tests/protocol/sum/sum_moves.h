// Moves inside a sum: a member obeys an order, takes a letter, is told its Reduce again; letters are lost,
// members end and join.
//
// The arithmetic of hops is that of the product's ring: a member at distance d from a bucket's start adds what comes
// with hop d - 1 and copies what comes with hop R - 1 + d; the one at distance R - 1 completes the sum.
#pragma once

#include <string>

#include "tests/protocol/sum/sum_model.h"

namespace shoal::protocol::sum {

class SumMoves {
 public:
  SumMoves(const SumModel& model, const State& state, Pace pace, Sink<State>& sink)
      : model_(model), rules_(model.rules), now_(state), pace_(pace), sink_(sink) {}

  void all();

 private:
  void obey_orders(int m);
  void begin(State& next, int m, int epoch) const;
  void take_letters();
  void receive(State& next, const Letter& letter);
  void receive_part(State& next, const Letter& part);
  void add(State& next, int m, const Letter& part);
  void copy(State& next, int m, const Letter& part);
  void keep_whole(State& next, int m, int bucket, Byte value);
  void receive_mark(State& next, const Letter& mark) const;
  void receive_question(State& next, const Letter& question) const;
  void give_again(State& next, int m, const Letter& question) const;
  void pass_on(State& next, int m, const Letter& like, bool is_whole) const;
  void repeat_reduce(int m);
  void lose_letters();
  void change_members();
  void order_anew(State& next, int members, Fault fault, const std::string& why);
  void move(const State& next, const std::string& story);
  [[nodiscard]] bool is_head(int index) const;
  [[nodiscard]] bool is_calm() const { return pace_ != Pace::kAny; }

  const SumModel& model_;
  const Rules& rules_;
  const State& now_;
  const Pace pace_;
  Sink<State>& sink_;
  const char* broken_ = nullptr;
};

}  // namespace shoal::protocol::sum
