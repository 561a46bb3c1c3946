// Spans of a trace in memory; parts of files.
#include "runtime/trace/report/pieces/event_pieces.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/trace/report/life_list.h"

namespace shoal {
namespace {

Topic step_topic(std::uint64_t step) { return {TopicKind::kStep, step, {}}; }
Topic epoch_topic(std::uint64_t group, std::uint32_t counter) {
  return {TopicKind::kEpoch, counter, Incarnation{group}};
}

class PiecesInMemory : public EventPieces {
 public:
  PiecesInMemory(const RunTrace& trace, std::size_t piece_events) : trace_(trace), piece_events_(piece_events) {
    frame_.lives = trace.lives;
    frame_.actors = trace.actors;
    event_count_ = trace.events.size();
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      if (i % piece_events == 0) topics_.emplace_back();
      topics_.back().add(trace.events[i].event);
      topics_.back().times.add(time_number(trace.events[i].time_ns));
    }
  }

  [[nodiscard]] Status read(std::size_t piece, const Take& take) const override {
    const std::size_t begin = piece * piece_events_;
    const std::size_t end = std::min(begin + piece_events_, trace_.events.size());
    for (std::size_t i = begin; i < end; ++i) take(trace_.events[i], i);
    return Done{};
  }

 private:
  const RunTrace& trace_;
  std::size_t piece_events_;
};

class PiecesOfFiles : public EventPieces {
 public:
  [[nodiscard]] Status open(const std::string& run_directory, std::size_t piece_events) {
    for (const auto& path : trace_files(run_directory)) {
      auto reader = TraceFileReader::open(path.string());
      if (!reader) return reader.failure();
      files_.push_back(std::move(reader.value()));
      const std::string name = path.stem().string();  // two workers of a node share the one they have of themselves
      const auto read = files_.back().read_parts([&](TracePart part) { add(part, name); }, piece_events);
      if (!read) return read.failure();
    }
    frame_.lives = lives_.lives();
    for (std::size_t piece = 0; piece < places_.size(); ++piece) {
      const auto shift = static_cast<std::uint64_t>(frame_.lives[places_[piece].life].begin_ns);
      topics_[piece].times.least += shift;
      topics_[piece].times.most += shift;
    }
    for (std::uint32_t life = 0; life < numbers_.size(); ++life) {
      for (std::size_t name = 0; name < numbers_[life].size(); ++name) {
        if (numbers_[life][name] == kNoActor) continue;
        numbers_[life][name] = lives_.actor_number(life, ActorName{static_cast<std::uint16_t>(name)});
      }
    }
    frame_.actors = lives_.actors();
    return Done{};
  }

  [[nodiscard]] Status read(std::size_t piece, const Take& take) const override {
    const Place& place = places_[piece];
    const auto events = files_[place.file].events_at(place.events);
    if (!events) return events.failure();
    std::uint64_t number = place.first_number;
    const std::int64_t begin_ns = frame_.lives[place.life].begin_ns;
    const auto& numbers = numbers_[place.life];
    for (const TraceEvent& event : *events) {
      take({event.time_ns + begin_ns, place.life, numbers[event.actor.value], event}, number++);
    }
    return Done{};
  }

 private:
  static constexpr std::uint32_t kNoActor = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSomeActor = kNoActor - 1;  // which number it gets is not known yet

  struct Place {
    std::size_t file = 0;
    EventsPlace events;
    std::uint32_t life = 0;
    std::uint64_t first_number = 0;
  };

  void add(TracePart& part, const std::string& name) {
    part.life.begin.process_name = name;
    const std::uint32_t life = lives_.add(part.life);
    if (part.life.events.empty()) return;
    places_.push_back({files_.size() - 1, part.place, life, event_count_});
    event_count_ += part.life.events.size();
    numbers_.resize(std::size_t{life} + 1);
    auto& numbers = numbers_[life];
    PieceTopics& topics = topics_.emplace_back();
    for (const TraceEvent& event : part.life.events) {
      topics.add(event);
      topics.times.add(time_number(event.time_ns));
      if (numbers.size() <= event.actor.value) numbers.resize(std::size_t{event.actor.value} + 1, kNoActor);
      numbers[event.actor.value] = kSomeActor;
    }
  }

  std::vector<TraceFileReader> files_;
  std::vector<Place> places_;
  LifeList lives_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by life and name: the actor's
};

}  // namespace

std::size_t piece_events_of(std::size_t file_count) {
  constexpr std::size_t kLeast = 256;
  constexpr std::size_t kMost = 2048;
  constexpr std::size_t kOfAllFiles = std::size_t{1} << 18U;
  return std::clamp(kOfAllFiles / std::max<std::size_t>(file_count, 1), kLeast, kMost);
}

Topic topic_of(const TraceEvent& event) {
  const Cause& cause = event.cause;
  switch (event.kind) {
    case TraceKind::kView:
    case TraceKind::kCommit:
    case TraceKind::kStageCommit:
    case TraceKind::kManifest: return {TopicKind::kPosition, cause.position.value, {}};
    case TraceKind::kPlan:
    case TraceKind::kAccumulate: return step_topic(cause.step.value);
    case TraceKind::kStart: return event.detail_text() == "zero" ? step_topic(cause.step.value) : Topic{};
    case TraceKind::kReceive: return event.detail_text() == "Manifest" ? step_topic(cause.step.value) : Topic{};
    case TraceKind::kPhase:
      return event.detail_text() == "Prepared" ? epoch_topic(event.incarnation.value, cause.attempt) : Topic{};
    case TraceKind::kDigest: break;
    default: return {};
  }
  const std::string_view what = event.detail_text();
  if (what == "state") return step_topic(cause.step.value + 1);
  if (what == "loaded") return step_topic(cause.step.value);
  return what == "sum" ? epoch_topic(event.subject, cause.attempt) : Topic{};
}

std::uint64_t time_number(std::int64_t time_ns) {
  return static_cast<std::uint64_t>(time_ns) ^ (std::uint64_t{1} << 63U);
}

void NumberRange::add(std::uint64_t number) {
  least = std::min(least, number);
  most = std::max(most, number);
}

void NumberRange::add(const NumberRange& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

void PieceTopics::add(const TraceEvent& event) {
  kinds.add(event.kind);
  const Topic topic = topic_of(event);
  if (topic.kind == TopicKind::kPosition) positions.add(topic.number);
  if (topic.kind == TopicKind::kStep) steps.add(topic.number);
  if (topic.kind != TopicKind::kEpoch) return;
  counters.add(topic.number);
  groups.add(topic.group.value);
}

void PieceTopics::add(const PieceTopics& other) {
  positions.add(other.positions);
  steps.add(other.steps);
  counters.add(other.counters);
  groups.add(other.groups);
  times.add(other.times);
  kinds.add(other.kinds);
}

PieceTopics EventPieces::all_topics() const {
  PieceTopics all;
  for (const PieceTopics& piece : topics_) all.add(piece);
  return all;
}

std::unique_ptr<EventPieces> pieces_of(const RunTrace& trace, std::size_t piece_events) {
  return std::make_unique<PiecesInMemory>(trace, piece_events);
}

Result<std::unique_ptr<EventPieces>> read_pieces(const std::string& run_directory) {
  return read_pieces(run_directory, piece_events_of(trace_files(run_directory).size()));
}

Result<std::unique_ptr<EventPieces>> read_pieces(const std::string& run_directory, std::size_t piece_events) {
  auto pieces = std::make_unique<PiecesOfFiles>();
  if (auto opened = pieces->open(run_directory, piece_events); !opened) return opened.failure();
  if (pieces->frame().lives.empty()) return no_trace_in(run_directory);
  return std::unique_ptr<EventPieces>(std::move(pieces));
}

}  // namespace shoal
