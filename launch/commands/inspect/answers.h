// Writes the answers of `shoal eval`, `shoal status` and `shoal ps` as text and as JSON. The keys are a contract:
// `--help` of the command has them, and numbers are numbers, in seconds, nats and tokens.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/base/error.h"
#include "runtime/device/evaluator.h"

namespace shoal {

// Says the figures of the checkpoint after `step` steps, one a line.
[[nodiscard]] std::string evaluation_text(std::uint64_t step, const Evaluation& evaluation);
// Says them as one object, with null for what is no finite number.
[[nodiscard]] std::string evaluation_json(std::uint64_t step, const Evaluation& evaluation);
// Says why `--data` of `shoal eval` cannot be evaluated; where nothing is there of that name, also what it may be.
[[nodiscard]] Failure refusal_of_data(const std::string& data, const Failure& of_text, bool is_there);
// A loss that is no finite number is no result. Errors: kInvalidData, naming the checkpoint.
[[nodiscard]] Status check_finite(std::uint64_t step, const Evaluation& evaluation);

// Says how far the run has come, and on which branch: "step 7 of 30, branch 1 (lower, from step 5), view 12". Throws
// the library's exception where a key is missing.
[[nodiscard]] std::string progress_text(const nlohmann::json& answer);

// Says what a worker gives and how it uses it, of one of the answer's machines: "paced:50, 24.0 GB, up 50 Mbit/s;
// computing 93 % of the time, MFU 41.2 %, 310.0 MB in use". Throws as above.
[[nodiscard]] std::string machine_text(const nlohmann::json& machine);

// Says what the spawner answered. Throws the library's exception where a key is missing.
[[nodiscard]] std::string status_json_text(const nlohmann::json& answer);

// Says its actors alone, each with the machine that it stands for: of node agents what their worker gives, else null.
[[nodiscard]] std::string actors_json_text(const nlohmann::json& answer);

}  // namespace shoal
