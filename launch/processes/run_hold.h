// One command at a time writes into a run directory. The second would replace config.toml and spawner.json under a run
// that lives before it finds that the journal is taken, and `--single` would not even find that.
#pragma once

#include "launch/processes/run_directory.h"

namespace shoal {

class RunHold {
 public:
  // Makes the directory if it is not there. The kernel ends the hold with the process, however that ends; a file system
  // without such locks holds nobody off. Errors: kUsage (another command has it), kIo.
  [[nodiscard]] static Result<RunHold> take(const RunDirectory& run);
  // Whether a command has it: the keeper of a run that goes on. False where nobody can say.
  [[nodiscard]] static bool is_taken(const RunDirectory& run);

  ~RunHold();
  RunHold(RunHold&& other) noexcept;
  RunHold& operator=(RunHold&& other) noexcept;

  // The program that this process becomes by exec goes on holding.
  void keep_across_exec() const;

 private:
  explicit RunHold(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace shoal
