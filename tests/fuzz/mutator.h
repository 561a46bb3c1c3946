// Changes inputs a little, by a seed: for the test that runs every harness without libFuzzer.
//
// It knows no coverage; it finds what is shallow, in a second and in every build.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace shoal::fuzz {

class Mutator {
 public:
  Mutator(std::vector<std::string> samples, std::uint64_t seed) : samples_(std::move(samples)), random_(seed) {}
  // One of the samples with one to four changes.
  [[nodiscard]] std::string next();

 private:
  [[nodiscard]] std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  void change(std::string& input);

  std::vector<std::string> samples_;
  std::mt19937_64 random_;
};

}  // namespace shoal::fuzz
