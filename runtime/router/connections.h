// The bytes of a router's connections: letters out as frames or over lanes, frames in as letters.
//
// A letter with tensors goes over the link's lane where it has one (lanes/letter_way.h), everything else in frames over
// the actor library's connection. A link's number is never given twice within a process. What a connection that breaks
// may have lost is told (state_on_its_way.h). Decides nothing about who may say what: links.h and letter_check.h do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pipeline/state_on_its_way.h"
#include "runtime/router/router_edge.h"
#include "runtime/router/router_notes.h"
#include "runtime/transport/assembly.h"
#include "runtime/transport/lanes/lanes.h"

namespace shoal {

class Connections {
 public:
  // limits: of what a peer that has a number sends. lanes: none, where tensors travel with everything else.
  Connections(const AssemblyLimits& limits, std::shared_ptr<Lanes> lanes, RouterEdge& edge, RouterNotes& notes)
      : limits_(limits), lanes_(std::move(lanes)), edge_(&edge), notes_(&notes) {}

  // dialled: the address; nothing if the other side dialled. certificate: the name in that of the other process.
  [[nodiscard]] LinkId open(std::optional<Endpoint> dialled, std::shared_ptr<const std::string> certificate);
  [[nodiscard]] bool contains(LinkId link) const { return connections_.contains(link); }
  [[nodiscard]] std::shared_ptr<const std::string> certificate(LinkId link) const;
  // Returns letters that report what may be lost with the link.
  [[nodiscard]] std::vector<Letter> close(LinkId link);

  // False: its lane is full, or the connection is over; the letter is still the caller's.
  [[nodiscard]] bool send(LinkId link, Letter& letter);
  // The peer hears by a Hello of no version that the link is over, which ends its side of it and is never answered.
  void say_farewell(LinkId link);
  // Returns the bytes that were sent since the last call, by what they were sent for.
  [[nodiscard]] ByteCounts take_sent() { return std::exchange(sent_, {}); }

  // Takes one frame. A value without content: more is to come. Errors: kInvalidData, what is wrong with the frame.
  [[nodiscard]] Result<std::optional<Assembled>> accept(LinkId link, std::span<const char> frame, bool has_number,
                                                        Instant now);
  // After accept(): how far the letter is that this frame is part of, if somebody is to be told.
  [[nodiscard]] std::optional<Arriving> take_news(LinkId link) { return connections_.at(link).assembler.take_news(); }

  // The side that dialled a link opens its lane, with the key of the other side.
  [[nodiscard]] Hello with_lane_key(LinkId link, Hello hello);
  void open_lane(LinkId link, const Hello& hello);

 private:
  struct Connection {
    std::optional<Endpoint> dialled;
    std::shared_ptr<const std::string> certificate;
    Assembler assembler;
    std::uint64_t transfers = 0;
    StateSent state_sent{};
  };

  void send_frames(LinkId link, const EncodedLetter& letter);

  AssemblyLimits limits_;
  std::shared_ptr<Lanes> lanes_;
  RouterEdge* edge_;
  RouterNotes* notes_;
  std::uint64_t opened_ = 0;
  ByteCounts sent_;
  std::map<LinkId, Connection> connections_;
};

}  // namespace shoal
