// Says each lack once: of the driver with the GPUs, of the build with its part for GPUs.
#include "launch/commands/inspect/findings.h"

namespace shoal {
namespace {

Finding finding_of_gpus(const Result<std::vector<GpuFacts>>& devices, bool lacks_driver) {
  if (devices) return {"gpu", Verdict::kGood, device_texts(*devices), ""};
  const std::string facts = "cannot be used: " + devices.failure().message;
  if (lacks_driver) return {"gpu", Verdict::kGood, facts, ""};
  return {"gpu", Verdict::kDoubtful, facts, "only --device cuda needs one: train on the processor, or mend the driver"};
}

// Without a GPU nothing needs the part; a damaged file is a sign of a copy that went wrong.
Finding finding_of_part(const Feature& part, bool has_gpu) {
  if (part.is_there) return {"cuda", Verdict::kGood, "this build has the part for GPUs", ""};
  if (!has_gpu && !part.is_damaged) return {"cuda", Verdict::kGood, "needed on a GPU alone: " + part.why_not, ""};
  const std::string remedy = part.is_damaged
                                 ? "only --device cuda needs it: train on the processor until then"
                                 : "install the CUDA toolkit, then run launch/shoal, which builds the part for GPUs";
  return {"cuda", Verdict::kDoubtful, "cannot be used: " + part.why_not, remedy};
}

Finding finding_of(const FeatureUse& use, bool is_needed, const std::string& remedy) {
  if (use.is_usable) return {use.name, Verdict::kGood, use.why, ""};
  const std::string facts = "cannot be used: " + use.why;
  return is_needed ? Finding{use.name, Verdict::kDoubtful, facts, remedy}
                   : Finding{use.name, Verdict::kGood, facts, ""};
}

}  // namespace

std::vector<Finding> device_findings(const std::vector<Feature>& built, const DriverAnswers& driver,
                                     const std::vector<FeatureUse>& uses) {
  const auto devices = usable_devices(driver);
  const bool lacks_driver = driver.open_error.has_value();
  return {finding_of_gpus(devices, lacks_driver), finding_of_part(built.at(0), devices.ok()),
          finding_of(uses.at(1), !lacks_driver, "only sync.backend=nccl needs it: take the ring"),
          finding_of(uses.at(2), true, "only model.precision=bf16 needs it: train with fp32, or on a newer processor")};
}

}  // namespace shoal
