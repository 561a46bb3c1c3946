// The rules of the step protocol that the model can do without: each is one condition in the moves of an actor.
//
// A rule is worth its line in the protocol if its removal breaks something. So every rule here has a search that must
// find what breaks (tests/protocol/searches.h), and a protocol without the rule is the negative control of all others.
#pragma once

#include <string_view>
#include <vector>

namespace shoal::protocol {

struct Rules {
  bool freeze = true;
  bool version_check = true;
  bool reply_ledger = true;
  bool part_epoch = true;
  bool epoch_order = true;
  bool vote_inst = true;
  bool vote_view = true;
  bool commit_epoch = true;
  bool log_order_replica = true;
  bool log_order_group = true;
  bool admit_version = true;
  bool missing = true;
  bool missing_when_open = true;
  bool zero_forgets = true;
  bool last_zero = true;
  bool last_emptied = true;
  bool frozen_next = true;
  bool keep_answers = true;
  bool keep_inputs = true;
  bool group_from_log = true;
  bool inst_durable = true;
  bool vote_after_reduced = true;
  bool journal_first = true;
  bool zero_clears_ledger = true;
  bool no_abort_after_vote = true;
  bool open_on_void = true;
  bool open_on_gap = true;
  bool add_voids = true;
  bool manifest_check = true;
  bool zero_on_twice = true;
  bool joiner_mute = true;
  bool send_on_removal = true;
  bool survey_opens = true;
  bool survey_is_order = true;
  bool loader_goes_on = true;
  bool asks_holders = true;
  bool fence = true;
  bool donor_in_view = true;
  bool quarantine_voids = true;
  bool quarantine_unknown = true;
  bool quarantine_withdraws = true;
  bool leaves_at_commit = true;
  bool lets_wait = true;
};

struct Rule {
  std::string_view name;
  bool Rules::*flag;
  std::string_view law;      // the rule of the protocol that it belongs to
  std::string_view without;  // what the protocol does when the rule is removed
};

// All of them, in the order of the struct.
[[nodiscard]] const std::vector<Rule>& all_rules();

// The names of the rules that are missing.
[[nodiscard]] std::vector<std::string_view> removed_rules(const Rules& rules);

}  // namespace shoal::protocol
