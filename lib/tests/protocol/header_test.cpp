// SPDX-License-Identifier: Apache-2.0
#include "protocol/header.hpp"

#include <gtest/gtest.h>

#include <set>

namespace switchyard::protocol {
namespace {

std::uint32_t digest_word(const step_words& words) {
  return finished_digest(with_mask(digest_of(words), get(words, header_word::rank_mask)),
                         get(words, header_word::incarnation));
}

TEST(header, every_must_match_word_moves_the_digest) {
  const step_words plain{};
  std::set<std::uint32_t> seen{digest_word(plain)};
  for (const auto& entry : must_match_words()) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      auto words = plain;
      set(words, entry.word, 1U << bit);
      EXPECT_TRUE(seen.insert(digest_word(words)).second) << to_string(entry.field) << " bit " << bit;
    }
  }
}

TEST(header, words_that_may_differ_do_not_move_the_digest) {
  step_words words{};
  const auto before = digest_word(words);
  set(words, header_word::num_tokens, 7);
  set(words, header_word::row_count, 9);
  EXPECT_EQ(digest_word(words), before);
}

TEST(header, every_step_field_but_the_echo_has_a_word) {
  std::set<step_field> fields;
  for (const auto& entry : must_match_words()) {
    for (const auto which : {phase::dispatch, phase::combine}) fields.insert(field_of(entry, which));
  }
  for (int i = 1; i <= static_cast<int>(step_field::routed_bitmap); ++i) {
    const auto field = static_cast<step_field>(i);
    const bool echoed = field == step_field::row_count || field == step_field::routed_bitmap;
    EXPECT_EQ(fields.contains(field), !echoed) << to_string(field);
  }
}

TEST(notice, comes_back_from_its_word) {
  for (const auto code : {fault_code::timeout, fault_code::step_mismatch, fault_code::aborted}) {
    for (const std::int32_t rank : {-1, 0, 71, 255}) {
      const notice told{code, phase::combine, step_field::routed_bitmap, 200, rank};
      const auto back = decode(encode(told));
      EXPECT_EQ(back.code, told.code);
      EXPECT_EQ(back.where, told.where);
      EXPECT_EQ(back.field, told.field);
      EXPECT_EQ(back.origin, told.origin);
      EXPECT_EQ(back.rank, told.rank);
    }
  }
}

}  // namespace
}  // namespace switchyard::protocol
