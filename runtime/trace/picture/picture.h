// A run as a picture for people (SVG): the work of each process, its deaths, and how the others went on.
//
//   lanes      per process, one per replica and sync group; work in colors, the microbatch's number in it
//   hatched    work that was lost with its replica; outlined: the same microbatch, computed again
//   lines      a commit goes through all lanes; a fault is red and numbered, its story stands below
//   curves     an activation or a gradient on its way from one replica to the next
#pragma once

#include <string>

#include "runtime/base/error.h"
#include "runtime/trace/picture/scene.h"

namespace shoal {

[[nodiscard]] std::string draw(const Scene& scene);

// compose_scene, then draw. Errors: those of compose_scene.
[[nodiscard]] Result<std::string> picture_of(const RunTrace& trace, const PictureWindow& window);

}  // namespace shoal
