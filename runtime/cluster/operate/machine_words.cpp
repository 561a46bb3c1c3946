// A word for each thing that is stated.
#include "runtime/cluster/operate/machine_words.h"

#include "runtime/base/compose.h"
#include "runtime/base/text/quantity_words.h"

namespace shoal {
namespace {

void add(std::string& text, const std::string& words) { text += (text.empty() ? "" : ", ") + words; }

}  // namespace

std::string offer_text(const MachineOffer& offer) {
  constexpr double kMega = 1e6;
  std::string text;
  if (offer.multiply_adds_s > 0) {
    add(text, number_text(2e-9 * static_cast<double>(offer.multiply_adds_s), 1) + " GFLOP/s a thread");
  }
  if (offer.forward_us > 0) add(text, number_text(static_cast<double>(offer.forward_us) / 1e3, 1) + " ms a forward");
  if (offer.memory_bytes > 0) add(text, size_text(offer.memory_bytes));
  if (offer.host_bytes > 0) add(text, compose("its machine ", size_text(offer.host_bytes), " of host memory"));
  if (offer.up_bit_s > 0) add(text, "up " + number_text(static_cast<double>(offer.up_bit_s) / kMega, 0) + " Mbit/s");
  if (offer.down_bit_s > 0) {
    add(text, "down " + number_text(static_cast<double>(offer.down_bit_s) / kMega, 0) + " Mbit/s");
  }
  return text;
}

std::vector<MachineLine> list_machines(const ProcessDirectory& processes) {
  std::vector<MachineLine> lines;
  for (const ProcessIncarnation process : processes.alive(ProcessRole::kNode)) {
    const ProcessRecord& record = *processes.find(process);
    lines.push_back({processes.name_of(process), record.join.device, record.join.offer, record.use});
  }
  return lines;
}

}  // namespace shoal
