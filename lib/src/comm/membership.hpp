// SPDX-License-Identifier: Apache-2.0
// One rank's place in a backend, of all ranks or of a part: gatherings among its members over the mesh.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/socket_mesh.hpp"
#include "comm/wire.hpp"

namespace switchyard::comm {

class membership {
 public:
  /// `ranks`: the members, ascending; `theirs`: which membership of each this is about, by place.
  membership(std::shared_ptr<socket_mesh> mesh, std::vector<int> ranks, std::vector<std::uint64_t> theirs);
  /// Tells the others that it takes part no longer, unless it has given up.
  ~membership();
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;

  [[nodiscard]] socket_mesh& mesh() const noexcept { return *mesh_; }
  [[nodiscard]] const std::shared_ptr<socket_mesh>& shared_mesh() const noexcept { return mesh_; }
  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] int place() const noexcept { return place_; }

  /// Gathers everybody's frame of this generation, by place; this rank's own is left empty. Throws what throw_absence
  /// throws, and then for ever.
  std::vector<frame> exchange(gather_call call, std::span<const std::byte> body,
                              const std::shared_ptr<const unique_descriptor>& descriptor, const deadline& until);

  /// Why this generation cannot be any more, as far as has come; none: it may.
  [[nodiscard]] std::optional<absence> trouble() const;
  /// Tells the others, and throws.
  [[noreturn]] void give_up(const absence& why, const std::string& detail = {});

 private:
  [[nodiscard]] std::uint64_t own() const { return theirs_[static_cast<std::size_t>(place_)]; }
  [[nodiscard]] const frame* find(int place, frame_kind kind) const;
  [[nodiscard]] frame take(int place);
  [[nodiscard]] rank_set awaited() const;
  void tell(const absence& why);

  std::shared_ptr<socket_mesh> mesh_;
  std::vector<int> ranks_;
  std::vector<std::uint64_t> theirs_;
  int place_ = 0;
  std::uint64_t generation_ = 0;
  std::optional<absence> broken_;
  std::string why_broken_;
};

/// A rank asks for a part: who else has, and have they all? Throws what throw_absence throws; may be asked again then.
std::unique_ptr<membership> form_part(const std::shared_ptr<socket_mesh>& mesh, const std::vector<int>& ranks,
                                      const deadline& until);

/// Tells that the caller's membership in the header, of these ranks, is over; and since which generation.
void send_leaving(socket_mesh& mesh, const std::vector<int>& ranks, frame_header header, const absence& why);

rank_set set_of(const std::vector<int>& ranks);

}  // namespace switchyard::comm
