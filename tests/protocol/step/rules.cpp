// The table of the rules: the law that each belongs to, and the protocol that is left without it.
#include "tests/protocol/step/rules.h"

namespace shoal::protocol {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> kRules = {
      {"freeze", &Rules::freeze, "P-8", "a replica accumulates also after its manifest"},
      {"version_check", &Rules::version_check, "P-5", "a replica computes a Forward of the step that it has applied"},
      {"reply_ledger", &Rules::reply_ledger, "P-7", "a replica accumulates every answer to a Forward"},
      {"part_epoch", &Rules::part_epoch, "P-15, P-18a", "a sum takes parts of any epoch of its step"},
      {"epoch_order", &Rules::epoch_order, "P-15", "a replica obeys an order of any epoch"},
      {"vote_inst", &Rules::vote_inst, "P-22", "a vote of a group that was replaced counts"},
      {"vote_view", &Rules::vote_view, "P-22", "a vote counts although its stage has changed since"},
      {"commit_epoch", &Rules::commit_epoch, "P-23", "a replica applies the sum of any epoch"},
      {"log_order_replica", &Rules::log_order_replica, "P-3", "a replica reads a removal before an earlier commit"},
      {"log_order_group", &Rules::log_order_group, "P-3", "a group reads a removal before an earlier commit"},
      {"admit_version", &Rules::admit_version, "P-27", "a joiner is added with a state of any version"},
      {"missing", &Rules::missing, "P-17", "nobody sends again what a group misses"},
      {"missing_when_open", &Rules::missing_when_open, "P-17a", "a frozen replica passes on what it has in flight"},
      {"zero_forgets", &Rules::zero_forgets, "P-16b", "a router keeps what a zeroed replica had sent"},
      {"last_zero", &Rules::last_zero, "P-16b", "a Prepare does not name the last Zero"},
      {"last_emptied", &Rules::last_emptied, "P-16b", "an order that was obeyed behind a missed Zero hides that"},
      {"frozen_next", &Rules::frozen_next, "P-13", "a router asks a frozen hop for ever"},
      {"keep_answers", &Rules::keep_answers, "P-7", "a replica drops an answer that comes while it is not open"},
      {"keep_inputs", &Rules::keep_inputs, "P-11", "a replica drops what it has an answer to"},
      {"group_from_log", &Rules::group_from_log, "P-21", "a new group asks the replicas for its step"},
      {"inst_durable", &Rules::inst_durable, "P-4", "a new group has the incarnation of the old one"},
      {"vote_after_reduced", &Rules::vote_after_reduced, "P-19", "a group votes when it has the manifests"},
      {"journal_first", &Rules::journal_first, "P-2", "a commit is sent before it is in the journal"},
      {"zero_clears_ledger", &Rules::zero_clears_ledger, "P-16", "a Zero empties the accumulators only"},
      {"no_abort_after_vote", &Rules::no_abort_after_vote, "P-19", "a group may open again after its vote"},
      {"open_on_void", &Rules::open_on_void, "P-20", "a group gives no Open when its stage has changed"},
      {"open_on_gap", &Rules::open_on_gap, "P-16", "a group gives no Open when the manifests have a gap"},
      {"add_voids", &Rules::add_voids, "P-27", "a new member of the stage voids no vote"},
      {"manifest_check", &Rules::manifest_check, "P-16", "a group does not compare the manifests with the plan"},
      {"zero_on_twice", &Rules::zero_on_twice, "P-16", "a group overlooks what two manifests name"},
      {"joiner_mute", &Rules::joiner_mute, "P-25", "a replica obeys and answers before its own AddReplica"},
      {"send_on_removal", &Rules::send_on_removal, "P-12", "a router does not send again when a hop is removed"},
      {"survey_opens", &Rules::survey_opens, "P-14a", "a survey with a gap ends without an Open"},
      {"survey_is_order", &Rules::survey_is_order, "P-14a, P-15", "a survey has the epoch of the order before it"},
      {"loader_goes_on", &Rules::loader_goes_on, "P-14", "a new data loader waits for its answers without end"},
      {"asks_holders", &Rules::asks_holders, "P-14a", "a new data loader asks nobody"},
      {"fence", &Rules::fence, "P-10", "data of a replica outside the view is taken"},
      {"donor_in_view", &Rules::donor_in_view, "P-26", "a joiner copies from a replica outside the view"},
      {"quarantine_voids", &Rules::quarantine_voids, "P-20a", "a microbatch that is taken out of a step voids no vote"},
      {"quarantine_unknown", &Rules::quarantine_unknown, "P-16", "a group overlooks what is not in the plan"},
      {"quarantine_withdraws", &Rules::quarantine_withdraws, "P-20a", "work on what was taken out goes on"},
      {"lets_wait", &Rules::lets_wait, "P-6", "a second sender of what is in flight is not answered with the first"},
      {"leaves_at_commit", &Rules::leaves_at_commit, "P-28a", "a leaver goes in the middle of a step"},
  };
  return kRules;
}

std::vector<std::string_view> removed_rules(const Rules& rules) {
  std::vector<std::string_view> names;
  for (const Rule& rule : all_rules()) {
    if (!(rules.*(rule.flag))) names.push_back(rule.name);
  }
  return names;
}

}  // namespace shoal::protocol
