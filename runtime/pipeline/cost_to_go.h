// Routing by the expected time until a microbatch is done (`pipeline.routing = cost_to_go`).
//
// A replica's cost for one more microbatch is its link's time and its own time for each that it was given and has not
// answered, and for this one. A path's cost is the sum over its stages, so each stage takes its cheapest replica by
// itself. Times are moving averages of the trails that come back; a newcomer counts as its stage's mean.
//
// The tail of a step: if the cheapest replica of a stage has no credit and another one has, that one gets a microbatch
// only when the others could not finish all that wait by the time at which it would be done; else the microbatch waits.
// So a slow replica takes no last microbatch that others would finish sooner.
//
// O(log R) for each choice; noticing another membership is one comparison of lists. The sum over the others is exact up
// to kExactReplicas and beyond that taken from the sums of their rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/pipeline/path_bans.h"
#include "runtime/pipeline/path_planner.h"

namespace shoal {

// The replicas of one stage, ascending by what one more microbatch would cost there.
class StageCosts {
 public:
  static constexpr std::size_t kExactReplicas = 16;

  void follow(const std::vector<Incarnation>& replicas);
  void measured(Incarnation replica, double compute_ms, double transfer_ms);
  void given(Incarnation replica);
  void answered(Incarnation replica);
  void forget_given();

  // Those that may have credit: whoever turns out to have none is closed until it is opened.
  void close(Incarnation replica);
  void open(Incarnation replica);
  void open_all();

  using Order = std::set<std::pair<double, Incarnation>>;
  [[nodiscard]] const Order& all() const { return all_; }
  [[nodiscard]] const Order& with_credit() const { return open_; }
  [[nodiscard]] std::size_t size() const { return peers_.size(); }
  // Milliseconds until one more would be done there.
  [[nodiscard]] double cost_ms(Incarnation replica) const;
  // Microbatches that all others finish within that time beside those that they have.
  [[nodiscard]] double others_finish(double within_ms, Incarnation but) const;

 private:
  struct Peer {
    std::optional<double> compute_ms;
    double transfer_ms = 0;
    std::uint32_t given = 0;
    double compute_now_ms = 1;  // as measured, or its stage's mean
    double key = 0;             // its place in the orders
    bool is_open = true;
  };

  [[nodiscard]] static double finishes(const Peer& peer, double within_ms);
  [[nodiscard]] double mean_ms() const;
  void enter(Incarnation replica, Peer& peer);
  void remove(Incarnation replica, const Peer& peer);
  template <class Change>
  void change(Incarnation replica, const Change& make);

  std::vector<Incarnation> members_;
  std::map<Incarnation, Peer> peers_;
  std::set<Incarnation> unmeasured_;
  Order all_, open_;
  double measured_sum_ms_ = 0;
  double rate_sum_ = 0;      // of 1 / compute_now_ms
  double occupied_sum_ = 0;  // of transfer_ms / compute_now_ms + given
};

class CostToGoPlanner final : public PathPlanner {
 public:
  std::optional<std::vector<Incarnation>> plan(const PlanRequest& request, Instant now) override;
  void learn(const std::vector<Hop>& trail) override;
  void failed(Incarnation replica, Instant now) override { bans_.add(replica, now); }
  void answered(MicrobatchId microbatch, const std::vector<Incarnation>& path) override;
  void begin_work() override;
  [[nodiscard]] std::string_view reason(std::size_t stage) const override {
    return stage < reasons_.size() ? reasons_[stage] : std::string_view{};
  }

 private:
  struct Choice {
    Incarnation replica;
    std::string_view reason;
  };

  [[nodiscard]] std::optional<Choice> choose(const PlanRequest& request, std::size_t stage, Instant now);
  [[nodiscard]] std::optional<Choice> choose_with_credit(const PlanRequest& request, std::size_t stage, Instant now);
  [[nodiscard]] std::optional<Incarnation> cheapest(std::size_t stage, const Members& members, Instant now) const;
  [[nodiscard]] bool are_all_banned(const std::vector<Incarnation>& replicas, Instant now) const;
  void take_back(MicrobatchId microbatch);

  std::vector<StageCosts> stages_;
  std::map<Incarnation, std::size_t> stage_of_;
  Members members_;
  std::map<MicrobatchId, std::vector<Incarnation>> in_flight_;
  std::vector<std::string_view> reasons_;
  Bans bans_;
};

}  // namespace shoal
