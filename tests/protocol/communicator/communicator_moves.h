// Moves of a group and its members about communicators: an order, its Reduce, the id of a new communicator, calls of
// the library and their ends; members end and join, the library fails.
#pragma once

#include <string>

#include "tests/protocol/communicator/communicator_model.h"

namespace shoal::protocol::communicator {

class CommunicatorMoves {
 public:
  CommunicatorMoves(const CommunicatorModel& model, const State& state, Pace pace, Sink<State>& sink)
      : model_(model), rules_(model.rules), now_(state), pace_(pace), sink_(sink) {}

  void all();

 private:
  void obey(int m);
  void begin_sum(int m);
  void begin_ring(int m);
  void begin_by_library(int m);
  void take_id(int m);
  void offer_id_again(int m);
  void hear_end(int m);
  void hear_failure(int m);
  void reduces();
  void commits();
  void hears_failure();
  void faults();
  void change_members();

  [[nodiscard]] int choice() const;
  [[nodiscard]] bool can_order() const;
  void order_anew(State& next, int members) const;
  void call(State& next, int m, int communicator) const;
  void make_id(State& next, int m) const;
  void fail(State& next, int m) const;
  [[nodiscard]] bool is_first(int m, int order) const;
  [[nodiscard]] bool is_due(int m) const;
  void move(const State& next, const std::string& story);
  [[nodiscard]] bool is_calm() const { return pace_ != Pace::kAny; }

  const CommunicatorModel& model_;
  const Rules& rules_;
  const State& now_;
  const Pace pace_;
  Sink<State>& sink_;
  const char* broken_ = nullptr;
};

}  // namespace shoal::protocol::communicator
