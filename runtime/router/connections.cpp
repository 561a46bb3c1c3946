// Frames of a link are smaller than those of a lane: on a slow way each is seen to come.
#include "runtime/router/connections.h"

#include "messages/catalogue/facts.h"
#include "messages/codec.h"
#include "runtime/transport/lanes/letter_way.h"

namespace shoal {
namespace {

constexpr std::size_t kLinkFrameBytes = std::size_t{128} << 10;

}  // namespace

LinkId Connections::open(std::optional<Endpoint> dialled, std::shared_ptr<const std::string> certificate) {
  const LinkId link{++opened_};
  connections_.emplace(link, Connection{std::move(dialled), std::move(certificate), Assembler(limits_)});
  return link;
}

std::shared_ptr<const std::string> Connections::certificate(LinkId link) const {
  return connections_.at(link).certificate;
}

std::vector<Letter> Connections::close(LinkId link) {
  const auto found = connections_.find(link);
  if (found == connections_.end()) return {};
  edge_->forget(link);
  auto lost = found->second.state_sent.lost();
  connections_.erase(found);
  if (lanes_) lanes_->close(link);
  return lost;
}

// The time is taken before the other side can have the letter.
bool Connections::send(LinkId link, Letter& letter) {
  const auto found = connections_.find(link);
  if (found == connections_.end()) return false;
  letter.span = notes_->trace.new_span(TraceKind::kSend);
  const std::int64_t sent_ns = notes_->trace.now_ns();
  const EncodedLetter encoded = encode(letter);
  const bool has_lane = way_of(letter.body) == LetterWay::kLane && lanes_;
  const LaneOutcome outcome = has_lane ? lanes_->send(link, encoded) : LaneOutcome::kNone;
  if (outcome == LaneOutcome::kFull) return false;
  if (outcome == LaneOutcome::kNone) send_frames(link, encoded);
  found->second.state_sent.add(letter);
  sent_.*facts_of(letter.body).counts_as += byte_count(encoded);
  trace_letter(notes_->trace, TraceKind::kSend, letter, sent_ns);
  return true;
}

void Connections::say_farewell(LinkId link) {
  if (contains(link)) send_frames(link, encode(Letter{{}, {}, Hello{}}));
}

// The connection takes all: credits bound the tensors of the pipeline that lie in it, and whoever follows the journal
// asks for one letter of it at a time.
void Connections::send_frames(LinkId link, const EncodedLetter& letter) {
  for (Cutter cutter(letter, ++connections_.at(link).transfers, kLinkFrameBytes); !cutter.is_done();) {
    std::vector<char> frame;
    cutter.next(frame);
    edge_->send_frame(link, std::move(frame));
  }
}

Result<std::optional<Assembled>> Connections::accept(LinkId link, std::span<const char> frame, bool has_number,
                                                     Instant now) {
  Assembler& assembler = connections_.at(link).assembler;
  assembler.allow(has_number ? limits_ : kStrangerAssembly);
  auto whole = assembler.accept(frame, now);
  notes_->marks.assembling.note(notes_->trace, assembler.open_bytes(), limits_.open_bytes_max);
  return whole;
}

// The spawner has no lanes: no tensors go there.
Hello Connections::with_lane_key(LinkId link, Hello hello) {
  const auto found = connections_.find(link);
  const bool is_ours_to_open = found == connections_.end() || found->second.dialled;
  if (!is_ours_to_open && lanes_) hello.lane_key = lanes_->expect(link);
  return hello;
}

void Connections::open_lane(LinkId link, const Hello& hello) {
  const auto found = connections_.find(link);
  if (found == connections_.end() || !lanes_) return;
  const auto& dialled = found->second.dialled;
  if (dialled && hello.lane_key != 0) lanes_->open(link, *dialled, hello.lane_key);
}

}  // namespace shoal
