// A child's line outlives it, because its replacements are counted by name.
#include "runtime/cluster/watch/child_watch.h"

#include <algorithm>

namespace shoal {

void ChildWatch::started(const std::string& name, Instant now) {
  time_.look(now);
  Child& child = children_[name];
  child.heard_at = time_.watched();
  child.is_there = true;
  child.has_answered = false;
}

void ChildWatch::ended(const std::string& name) {
  if (const auto child = children_.find(name); child != children_.end()) child->second.is_there = false;
}

void ChildWatch::answered(const std::string& name, Instant now) {
  time_.look(now);
  const auto child = children_.find(name);
  if (child == children_.end()) return;
  child->second.heard_at = time_.watched();
  child->second.has_answered = true;
}

bool ChildWatch::is_time_to_ask(Instant now) {
  time_.look(now);
  if (time_.watched() - asked_at_ < kAskEvery) return false;
  asked_at_ = time_.watched();
  return true;
}

Duration ChildWatch::patience_with(Child& child) const {
  std::erase_if(child.replaced_at, [this](Duration at) { return time_.watched() - at >= kRemembered; });
  Duration patience = patience_;
  for (std::size_t i = 0; i < child.replaced_at.size() && patience < dead_after_; ++i) patience *= 2;
  return child.has_answered ? std::min(patience, dead_after_) : dead_after_;
}

Duration ChildWatch::silence_of(const std::string& name, Instant now) {
  time_.look(now);
  const auto child = children_.find(name);
  return child != children_.end() && child->second.is_there ? time_.watched() - child->second.heard_at : Duration{};
}

std::vector<SilentChild> ChildWatch::take_silent(Instant now) {
  time_.look(now);
  std::vector<SilentChild> silent;
  for (auto& [name, child] : children_) {
    const Duration silence = time_.watched() - child.heard_at;
    if (!child.is_there || silence < patience_with(child)) continue;
    silent.push_back({name, silence});
    child.heard_at = time_.watched();
    child.replaced_at.push_back(time_.watched());
  }
  return silent;
}

}  // namespace shoal
