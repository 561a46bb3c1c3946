// Every bound (runtime/base/bound.h), and how a test reaches it: the simulation draws it between `least` and `most`,
// or one test of the unit group goes up to it. tests/tidy refuses a bound that is not here, a bound here that is not in
// the code, and a test that does not exist; `tests/simulate --bounds` one that is drawn and not reached.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shoal {

struct ListedBound {
  std::string_view name;
  std::uint64_t least = 0, most = 0;  // most 0: not drawn
  std::string_view test = {};         // "Suite.Name" of one that is not drawn
  std::string_view why_none = {};     // otherwise

  [[nodiscard]] constexpr bool is_drawn() const { return most != 0; }
};

// A bound that no long run comes nearer to: of one message, one file, one text. A plain number, "path:name".
struct ListedNumber {
  std::string_view place;
  std::string_view test = {};      // "Suite.Name" of one that comes to it
  std::string_view why_none = {};  // otherwise
};

inline constexpr std::array kBoundsList = {
    ListedBound{"journal.checkpoints_remembered", 1, 4},
    ListedBound{"journal.contributions_kept", 0, 0, "ContributedTokens.AreBounded"},
    ListedBound{"journal.ends_kept", 1, 2},
    ListedBound{"journal.entries_kept", 2, 5},
    ListedBound{"journal.entries_per_letter", 1, 4},
    ListedBound{"journal.entries_with_details", 1, 2},
    ListedBound{"journal.lost_places_kept", 0, 0, "RequeuedSamples.ForgetsTheOldestButForTheirNumber"},
    ListedBound{"journal.lost_places_waiting", 0, 0, "LostSamples.MoreThanMayWaitIsNotTrainedAgain"},
    ListedBound{"journal.rounds_with_losses", 1, 2},
    ListedBound{"journal.snapshot_every", 3, 9},
    ListedBound{"journal.totals_kept", 2, 6},
    ListedBound{"links.bytes_ahead_of_the_journal", 1, 2048},
    ListedBound{"links.bytes_for_absent_peers", 4096, 16384},
    ListedBound{"links.orders_for_absent_actors", 0, 0, "OrdersForAbsent.S6AreBounded"},
    ListedBound{"links.route_hints", 1, 4},
    ListedBound{"links.strangers", 2, 4},
    ListedBound{"links.untaken_letters", 0, 0, "UntakenLetters.AreBoundedAndCountedWhenGivenUp"},
    ListedBound{"pipeline.evaluations", 0, 0, "Replica.BoundsTheEvaluationsThatItHasUnanswered"},
    ListedBound{"pipeline.frozen_refusals", 0, 3},
    ListedBound{"pipeline.held_parts", 1, 4},
    ListedBound{"pipeline.replicas_of_a_process", 1, 2},
    ListedBound{"pipeline.requests_kept", 0, 0, "RequestTable.ARequesterCannotHoldMoreThanItsBound"},
    ListedBound{"pipeline.unanswered_asks", 1, 3},
    ListedBound{"pipeline.waiting_forwards", 0, 0, "Replica.P5BoundsItsWaitingRoom"},
    ListedBound{"storage.images_given", 0, 0, "GivenImages.S6RemembersSoMany"},
    ListedBound{"storage.unfinished_checkpoints", 0, 0,
                "Checkpoint.UnfinishedOnesAreBoundedAndGivenUpWhenALaterOneIsWhole"},
    ListedBound{"supervision.actors_told_of_a_process", 0, 0, "ActorList.WhatAProcessTellsIsBounded"},
    ListedBound{"supervision.failed_starts", 0, 0, "FailedStarts.OfAllThereAreMayHaveBeenPassing"},
    ListedBound{"supervision.heartbeats_remembered", 8, 12},
    ListedBound{"supervision.held_commits_of_a_joiner", 0, 0, "JoinDesk.ThreeHoldsWithPausesThenItIsGivenUp"},
    ListedBound{"supervision.lost_processes_remembered", 1, 3},
    ListedBound{"supervision.nodes_that_cannot_start", 0, 0, "FailedStarts.OfThreeNodesAreHopelessWhoeverIsLeft"},
    ListedBound{"supervision.numbers_left", 1, 3},
    ListedBound{"supervision.numbers_reserved", 2, 4},
    ListedBound{"supervision.quarantined_microbatches", 0, 0, "Poison.SoManyAreTheProgramsFault"},
    ListedBound{"supervision.restarts_of_children", 0, 0,
                "SupervisorReturn.AChildThatIsPastItsBudgetEndsThisProcessAndNobodyElse"},
    ListedBound{"supervision.rollbacks_in_vain", 0, 0,
                "SupervisorRollback.WithoutAnyProgressTheProcessesAreStartedAgain"},
    ListedBound{"supervision.rollbacks_with_less_memory", 0, 0, "Setbacks.ForWantOfMemoryTheyEndSoonerAndWithPauses"},
    ListedBound{"supervision.rollbacks_without_memory", 0, 0, "Setbacks.ForWantOfMemoryTheyEndSoonerAndWithPauses"},
    ListedBound{"supervision.starts_in_vain", 0, 0, "SupervisorRollback.WhatKeptAllFromStartingIsWaitedForAFewTimes"},
    ListedBound{"supervision.suspected_microbatches", 0, 0, "Poison.RemembersBoundedlyMany"},
    ListedBound{"supervision.unsaved_checkpoints", 1, 2},
    ListedBound{"sync.bucket_bytes", 8, 8},
    ListedBound{"sync.commits_of_a_joiner", 2, 4},
    ListedBound{"sync.early_parts_of_a_round", 1, 3},
    ListedBound{"sync.joiners_fed", 1, 2},
    ListedBound{"sync.members_that_ask_for_means", 1, 2},
    ListedBound{"sync.owner_window", 1, 2},
    ListedBound{"sync.ring_bytes", 1, 32},
    ListedBound{"sync.rounds_open", 0, 0, {}, "no test comes to it: fewer than a plan has in flight would hang it"},
    ListedBound{"sync.sums_of_a_joiner", 1, 2},
    ListedBound{"sync.unheld_bytes", 1, 64},
    ListedBound{"sync.unheld_steps", 2, 4},
};

inline constexpr std::array kNumbersList = {
    ListedNumber{"runtime/storage/log_outbox.h:bytes_max", "LogOutbox.IsBoundedAndSaysWhatItDropped", ""},
    ListedNumber{"actors/node_agent.cpp:kNameTakenMax", "Refused.ANameThatIsTaken", ""},
    ListedNumber{"runtime/cluster/operate/actor_list.h:kTextMax", "ActorList.WhatAProcessTellsIsBounded", ""},
    ListedNumber{"runtime/cluster/operate/chaos.cpp:kFreezeMsMost", "", "of what is drawn, not of what is kept"},
    ListedNumber{"runtime/cluster/operate/operator_words.cpp:kTextBytesMax",
                 "OperatorWords.ADamagedOrderIsRefusedByItsField", ""},
    ListedNumber{"runtime/cluster/operate/operator_words.h:kFreezeMsMax",
                 "OperatorWords.ADamagedOrderIsRefusedByItsField", ""},
    ListedNumber{"runtime/cluster/recovery/divergence.h:kSkipsMax", "Divergence.TenSkippedStepsInARowAndNoFewer", ""},
    ListedNumber{"runtime/cluster/view.cpp:kStagesMax", "", "no configuration has so many: a broken entry"},
    ListedNumber{"runtime/pipeline/request_table.cpp:kDoublingsMax", "",
                 "of an exponent: times have a ceiling long before"},
    ListedNumber{"runtime/storage/checkpoint_reader.cpp:kLooksMax", "Checkpoint.IsFoundWhileOthersTakeItsPlace", ""},
    ListedNumber{"runtime/storage/journal.cpp:kRemovedAtOnceMax", "JournalCut.OfALongJournalTakesNotAllEntriesAtOnce",
                 ""},
    ListedNumber{"runtime/storage/journal.h:kLoadedBytesMax", "Journal.GivesNoMoreAtOnceThanALetterHolds", ""},
    ListedNumber{"runtime/storage/journal.h:kSnapshotBytesMax", "JournalCut.WhatCouldNotBeReadAgainIsNotKept", ""},
    ListedNumber{"runtime/storage/remote_files.cpp:kNameBytesMax", "RemoteFiles.WriteWhatBelongsThereAndNothingElse",
                 ""},
    ListedNumber{"runtime/storage/remote_files.cpp:kRefusalsMax", "RemoteFiles.ForgetRefusalsBeforeTheyAreTooMany", ""},
    ListedNumber{"runtime/storage/remote_files.h:kFileBytesMax", "RemoteFiles.WriteWhatBelongsThereAndNothingElse", ""},
    ListedNumber{"runtime/storage/safetensors.cpp:kHeaderBytesMax", "Safetensors.RefusesHeaderLengthsBeyondTheFile",
                 ""},
    ListedNumber{"runtime/sync/patience.h:kDoublingsMax", "", "of an exponent: times have a ceiling"},
    ListedNumber{"runtime/sync/wire/wire_codec.cpp:kMagnitudeBitsMax", "", "a number of the format"},
    ListedNumber{"runtime/transport/admission.h:half_open_count_max", "HalfOpenTable.BoundsStrangersInAllAndPerAddress",
                 ""},
    ListedNumber{"runtime/transport/admission.h:half_open_per_address_max",
                 "HalfOpenTable.BoundsStrangersInAllAndPerAddress", ""},
    ListedNumber{"runtime/transport/assembly.h:buffers_max", "Assembly.AnnouncedSizesBeyondTheLimitsAreRefusedAtOnce",
                 ""},
    ListedNumber{"runtime/transport/assembly.h:transfers_max", "Assembly.ForgedFramesNeverTakeMoreThanTheLimits", ""},
    ListedNumber{"runtime/transport/assembly.h:kFrameBytesMax", "Assembly.WhatIsCutComesBackAlignedAndBitForBit", ""},
    ListedNumber{"runtime/transport/certificates.cpp:kPemBytesMax", "",
                 "no test comes to it: a text of that size is no certificate"},
    ListedNumber{"runtime/transport/control/control_client.cpp:kAnswerBytesMax", "",
                 "no test comes to it: of what the own spawner answers"},
    ListedNumber{"runtime/transport/control/reach.h:kEntriesMax", "ReachBook.S6RemembersNoMoreThanItsBound", ""},
    ListedNumber{"runtime/transport/control/http_message.cpp:kHeadersMax", "HttpReader.RefusesWhatIsTooLarge", ""},
    ListedNumber{"runtime/transport/control/http_message.h:body_bytes_max", "HttpReader.RefusesWhatIsTooLarge", ""},
    ListedNumber{"runtime/transport/control/http_message.h:head_bytes_max", "HttpReader.RefusesWhatIsTooLarge", ""},
    ListedNumber{"runtime/transport/error_words.cpp:kLengthMax", "", "of a text for people"},
    ListedNumber{"runtime/transport/identity.cpp:kNameLengthMax", "Identity.NamesAreBounded", ""},
    ListedNumber{"runtime/transport/lanes/lane_limits.h:queue_bytes_max",
                 "OpenLanes.S6AFullLaneSaysSoAndTellsWhenThereIsRoom", ""},
    ListedNumber{"runtime/transport/lanes/lane_limits.h:unclaimed_max",
                 "OpenLanes.S6WhoClaimsNothingIsClosedAndTooManyAreTurnedAway", ""},
    ListedNumber{"runtime/transport/lanes/lane_limits.h:unread_bytes_max", "OpenLanes.S6WhoIsNotReadIsNotHeard", ""},
    ListedNumber{"runtime/transport/lanes/tls_lane_socket.cpp:kIoBytesMax", "", "the range of a library's int"},
    ListedNumber{"runtime/transport/lanes/tls_lanes.cpp:kEventsMax", "",
                 "of one wait: what is left comes with the next"},
    ListedNumber{"runtime/transport/tls_socket.cpp:kIoBytesMax", "", "the range of a library's int"},
    ListedNumber{"runtime/transport/tls_stream.cpp:kEarlyBytesMax", "",
                 "no test comes to it: what is written before a handshake is one Hello"},
    ListedNumber{"runtime/transport/tls_stream.cpp:kIoBytesMax", "", "the range of a library's int"},
    ListedNumber{"runtime/transport/tls_stream.h:frame_bytes_max", "FrameGuard.NoAnnouncedLengthIsBelieved", ""},
    ListedNumber{"runtime/transport/assembly.h:kFirstBytesMax", "Assembly.MemoryFollowsWhatHasCome", ""},
    ListedNumber{"runtime/transport/control/control_server.h:waiting_count_max",
                 "ControlEndpoint.S6WhatNoThreadHasYetIsBounded", ""},
    ListedNumber{"runtime/transport/control/control_server.h:known_count_max", "",
                 "no test comes to it: 256 nodes that ask at once"},
    ListedNumber{"runtime/transport/guard/basp_frame.h:kApplicationNamesMax", "FrameGuard.NoAnnouncedLengthIsBelieved",
                 ""},
    ListedNumber{"runtime/transport/guard/basp_frame.h:kDownBytesMax", "FrameGuard.NoAnnouncedLengthIsBelieved", ""},
    ListedNumber{"runtime/transport/guard/basp_frame.h:kInfoBytesMax", "FrameGuard.NoAnnouncedLengthIsBelieved", ""},
    ListedNumber{"runtime/transport/guard/basp_frame.h:kMessageNamesMax", "FrameGuard.NoAnnouncedLengthIsBelieved", ""},
    ListedNumber{"runtime/transport/guard/basp_frame.h:kNameBytesMax", "FrameGuard.NoAnnouncedLengthIsBelieved", ""},
    ListedNumber{"runtime/transport/guard/basp_frame.h:kServerHandshakeBytesMax",
                 "FrameGuard.NoAnnouncedLengthIsBelieved", ""},
    ListedNumber{"runtime/transport/guard/frame_guard.h:kMonitorsMax",
                 "FrameGuard.S6WhatTheLibraryRemembersOfAConnectionIsBounded", ""},
    ListedNumber{"runtime/transport/guard/peer_crashes.h:kCrashesMax",
                 "PeerCrashes.S6WhatIsRememberedAndExcusedIsBounded", ""},
    ListedNumber{"runtime/transport/guard/peer_crashes.h:kPeersMax",
                 "PeerCrashes.S6WhatIsRememberedAndExcusedIsBounded", ""},
    ListedNumber{"runtime/transport/lanes/frame_reader.h:kPieceBytesMax",
                 "FrameReader.S6AnAnnouncedLengthTakesMemoryOnlyAsItComes", ""},
    ListedNumber{"runtime/transport/tls_middleman.cpp:kPieceBytesMax", "BadGuest.S6AnAnnouncementCostsNoMemory", ""},
    ListedNumber{"runtime/transport/tls_stream.h:connections_per_peer_max", "BadGuest.S6ItsConnectionsAreCounted", ""},
};

}  // namespace shoal
