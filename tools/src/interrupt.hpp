// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM ask a run to leave its current case and to stop; a second one ends the program at once.
#pragma once

namespace switchyard::tools {

void install_interrupt_handlers();
bool interrupted() noexcept;

}  // namespace switchyard::tools
