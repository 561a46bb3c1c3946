// Hops per exchange; indices are places in the list.
#include "runtime/plan/collective.h"

namespace shoal {
namespace {

// Worker i to i + 1, i + 2, ...: at any time all senders have different receivers.
std::vector<ExchangeHop> everybody_to_everybody(std::size_t workers, double share) {
  std::vector<ExchangeHop> hops;
  for (std::size_t distance = 1; distance < workers; ++distance) {
    for (std::size_t from = 0; from < workers; ++from)
      hops.push_back({from, (from + distance) % workers, share, 0, {}});
  }
  return hops;
}

std::vector<ExchangeHop> ring(std::size_t workers) {
  std::vector<ExchangeHop> hops;
  const std::size_t phases = 2 * (workers - 1);
  for (std::size_t phase = 0; phase < phases; ++phase) {
    for (std::size_t from = 0; from < workers; ++from) {
      const std::size_t to = (from + 1) % workers;
      ExchangeHop hop{from, to, 1.0 / static_cast<double>(workers), phase == 0 ? 0U : 1U, {}};
      if (phase + 1 < phases) hop.unlocks.push_back((phase + 1) * workers + to);
      hops.push_back(std::move(hop));
    }
  }
  return hops;
}

std::vector<ExchangeHop> owner(std::size_t workers) {
  std::vector<ExchangeHop> hops = everybody_to_everybody(workers, 1.0 / static_cast<double>(workers));
  const std::size_t half = hops.size();
  for (std::size_t i = 0; i < half; ++i) {
    ExchangeHop mean = hops[i];
    mean.needs_count = workers - 1;
    hops.push_back(mean);
  }
  for (std::size_t i = 0; i < half; ++i) {
    for (std::size_t j = half; j < hops.size(); ++j) {
      if (hops[j].from == hops[i].to) hops[i].unlocks.push_back(j);
    }
  }
  return hops;
}

}  // namespace

std::vector<ExchangeHop> hops_of(Exchange exchange, std::size_t workers) {
  if (workers < 2) return {};
  switch (exchange) {
    case Exchange::kGather: return everybody_to_everybody(workers, 1);
    case Exchange::kRing: return ring(workers);
    case Exchange::kOwner: return owner(workers);
  }
  return {};
}

double sent_share(Exchange exchange, std::size_t workers) {
  const auto others = static_cast<double>(workers - 1);
  return exchange == Exchange::kGather ? others : 2 * others / static_cast<double>(workers);
}

}  // namespace shoal
