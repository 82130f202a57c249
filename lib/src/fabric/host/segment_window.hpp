// SPDX-License-Identifier: Apache-2.0
// Memory that processes of one host share: segments without a name, which vanish with the last process that has them,
// and ranges of addresses in which they are seen, which stay when what is seen there is replaced.
#pragma once

#include <cstddef>

#include "system/unique_descriptor.hpp"

namespace switchyard::host {

/// A segment of zeros that nobody can find: it is handed on by its descriptor. Throws out_of_memory.
unique_descriptor make_segment(std::size_t bytes);

/// Addresses, and the segment that is seen there, or nothing: then a touch ends the process.
class segment_window {
 public:
  /// Addresses of its own, without anything there. Throws out_of_memory.
  explicit segment_window(std::size_t bytes);
  ~segment_window();
  segment_window(const segment_window&) = delete;
  segment_window& operator=(const segment_window&) = delete;

  /// Takes in the segment that is to be seen next, of at least as many bytes; the descriptor may be closed after.
  /// Nothing changes yet. Throws out_of_memory; unsupported for what is no such segment.
  void prepare(int descriptor);
  /// Shows what was prepared, if anything, in one go. Throws out_of_memory, and then shows what it did.
  void show();
  /// Shows fresh pages of this process alone instead. Throws out_of_memory.
  void show_own_pages();
  /// Gives back what was prepared and not shown. Idempotent.
  void discard() noexcept;
  /// Lets go of what is seen. Idempotent. Throws out_of_memory.
  void take_away();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Where what was prepared is seen meanwhile; null: nothing is.
  [[nodiscard]] std::byte* prepared() const noexcept { return prepared_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::byte* prepared_ = nullptr;
};

}  // namespace switchyard::host
