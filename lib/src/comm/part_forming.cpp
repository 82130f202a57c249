// SPDX-License-Identifier: Apache-2.0
// How some of the ranks agree on a backend of their own. Each tells all others that it joins, by a number that it uses
// once. When it has everybody's it tells a digest of all these numbers, and the part is formed when all tell the same:
// then nobody is still in an earlier attempt. Who gives up says so, which takes its joining back, and joins anew by
// another number.
#include <algorithm>
#include <optional>
#include <utility>

#include "comm/absence.hpp"
#include "comm/membership.hpp"

namespace switchyard::comm {
namespace {

class part_forming {
 public:
  part_forming(socket_mesh& mesh, const std::vector<int>& ranks)
      : mesh_(mesh), ranks_(ranks), members_(set_of(ranks)), own_(mesh.next_membership()) {}

  std::vector<std::uint64_t> run(const deadline& until) {
    forget_who_has_left();
    frame_header header;
    header.kind = frame_kind::joining;
    header.membership = own_;
    send_all(pack(header, members_));
    for (bool in_time = true;; mesh_.wait(until)) {
      const auto joined = who_has_joined();
      if (joined && all_are_ready(*joined)) return end_with(*joined);
      if (const auto ended = ended_members(); ended != rank_set{}) give_up(gone(ended));
      if (!in_time) give_up(late(missing(), until));
      in_time = !until.has_passed();
    }
  }

 private:
  void send_all(const packed_frame& packed) {
    for (const int rank : ranks_) mesh_.send(rank, packed);
  }

  /// The membership by which a rank has joined, oldest first: a newer one is for a part that comes after this.
  std::optional<std::uint64_t> joining_of(int rank) {
    if (rank == mesh_.rank()) return own_;
    for (const auto& each : mesh_.inbox(rank)) {
      if (each.header.kind == frame_kind::joining && body_of<rank_set>(each.body) == members_) {
        return each.header.membership;
      }
    }
    return std::nullopt;
  }

  /// Everybody's membership, by place, once all are there; then this rank has told that it is ready for these.
  std::optional<std::vector<std::uint64_t>> who_has_joined() {
    std::vector<std::uint64_t> joined;
    for (const int rank : ranks_) {
      const auto theirs = joining_of(rank);
      if (!theirs) return std::nullopt;
      joined.push_back(*theirs);
    }
    const auto digest = digest_of(joined);
    if (told_ != digest) {
      told_ = digest;
      frame_header header;
      header.kind = frame_kind::ready;
      header.membership = own_;
      send_all(pack(header, digest));
    }
    return joined;
  }

  /// FNV-1a over words.
  static std::uint64_t digest_of(const std::vector<std::uint64_t>& joined) {
    std::uint64_t digest = 0xCBF2'9CE4'8422'2325;
    for (const auto each : joined) digest = (digest ^ each) * 0x0000'0100'0000'01B3;
    return digest;
  }

  bool is_ready(int rank, std::uint64_t theirs) {
    std::optional<std::uint64_t> last;
    for (const auto& each : mesh_.inbox(rank)) {
      if (each.header.kind == frame_kind::ready && each.header.membership == theirs) {
        last = body_of<std::uint64_t>(each.body);
      }
    }
    return last == told_;
  }

  bool all_are_ready(const std::vector<std::uint64_t>& joined) {
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
      if (ranks_[place] != mesh_.rank() && !is_ready(ranks_[place], joined[place])) return false;
    }
    return true;
  }

  /// What has come for the part itself stays.
  std::vector<std::uint64_t> end_with(const std::vector<std::uint64_t>& joined) {
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
      std::erase_if(mesh_.inbox(ranks_[place]), [&](const frame& each) {
        return each.header.membership == joined[place] && each.header.kind != frame_kind::gathered;
      });
    }
    return joined;
  }

  rank_set ended_members() {
    rank_set ended{};
    for (const int rank : ranks_) {
      if (!mesh_.is_gone(rank)) continue;
      const auto theirs = joining_of(rank);
      if (!theirs || !is_ready(rank, *theirs)) insert(ended, rank);
    }
    return ended;
  }

  /// What it has said when it last gave up joining; not that it has left a backend of the same ranks.
  const frame* leaving_of(int rank) {
    for (const auto& each : mesh_.inbox(rank)) {
      if (each.header.kind != frame_kind::leaving || mesh_.expects(rank, each.header.membership)) continue;
      if (body_of<departure>(each.body).members == members_) return &each;
    }
    return nullptr;
  }

  /// Of earlier attempts.
  void forget_who_has_left() {
    for (const int rank : ranks_) {
      if (const auto* left = leaving_of(rank)) mesh_.forget(rank, left->header.membership);
    }
  }

  /// Who has not joined; and of those who joined and gave up while this rank waited, those whom they had missed. When
  /// everybody has joined, those who are not ready.
  rank_set missing() {
    rank_set ranks{};
    const auto add = [&](const rank_set& more) {
      for (std::size_t word = 0; word < ranks.size(); ++word) ranks[word] |= more[word];
    };
    for (const int rank : ranks_) {
      if (joining_of(rank)) continue;
      rank_set of_rank{};
      if (const auto* left = leaving_of(rank)) {
        for (int each = 0; each < mesh_.size(); ++each) {
          const bool missed = contains(body_of<departure>(left->body).why.missing, each);
          if (missed && each != mesh_.rank()) insert(of_rank, each);
        }
      }
      if (of_rank == rank_set{}) insert(of_rank, rank);
      add(of_rank);
    }
    if (ranks != rank_set{}) return ranks;
    for (const int rank : ranks_) {
      if (rank != mesh_.rank() && !is_ready(rank, *joining_of(rank))) insert(ranks, rank);
    }
    return ranks;
  }

  [[noreturn]] void give_up(const absence& why) {
    frame_header header;
    header.membership = own_;
    send_leaving(mesh_, ranks_, header, why);
    throw_absence(why);
  }

  socket_mesh& mesh_;
  const std::vector<int>& ranks_;
  rank_set members_;
  std::uint64_t own_;
  std::optional<std::uint64_t> told_;
};

}  // namespace

std::unique_ptr<membership> form_part(const std::shared_ptr<socket_mesh>& mesh, const std::vector<int>& ranks,
                                      const deadline& until) {
  return std::make_unique<membership>(mesh, ranks, part_forming(*mesh, ranks).run(until));
}

}  // namespace switchyard::comm
