// SPDX-License-Identifier: Apache-2.0
// Construction succeeds on all ranks or on none, and says which rank and what.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <new>
#include <string>

#include "rules.hpp"
#include "support/host_group.hpp"

namespace switchyard {
namespace {

const comm_params good{.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 16, .hidden_size = 32};

/// Each rank constructs with params and config of its own; returns the messages, empty where it succeeded.
std::vector<std::string> construct(
    int ep_size, const std::function<void(int, bootstrap&, comm_params&, one_sided_config&)>& change) {
  const auto backends = make_in_process_backends(ep_size);
  std::vector<std::string> messages(static_cast<std::size_t>(ep_size));
  test::on_every_rank(ep_size, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = ep_size;
    boot.comm_backend = backends[index];
    comm_params params = good;
    one_sided_config config;
    config.warmup_timeout = std::chrono::seconds(5);
    change(rank, boot, params, config);
    try {
      const one_sided_all_to_all instance(boot, params, config);
    } catch (const error& e) {
      messages[index] = e.what();
    }
  });
  return messages;
}

void expect_all_say(const std::vector<std::string>& messages, const std::vector<std::string>& words) {
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    for (const auto& word : words) {
      EXPECT_NE(messages[rank].find(word), std::string::npos) << "rank " << rank << ": " << messages[rank];
    }
  }
}

TEST(construction, succeeds_everywhere_when_all_agree) {
  for (const auto& message : construct(3, [](int, bootstrap&, comm_params&, one_sided_config&) {})) {
    EXPECT_EQ(message, "");
  }
}

TEST(construction, a_broken_rule_on_one_rank_fails_all_with_rank_value_and_rule) {
  expect_all_say(construct(3,
                           [](int rank, bootstrap&, comm_params& p, one_sided_config&) {
                             if (rank == 1) p.top_k = 9;
                           }),
                 {"rank 1", "top_k is 9", "num_experts = 8"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap&, comm_params& p, one_sided_config&) {
                             if (rank == 0) p.invalid_expert_id = 7;
                           }),
                 {"rank 0", "invalid_expert_id is 7", "outside"});
}

TEST(construction, names_the_term_on_which_ranks_differ) {
  expect_all_say(construct(3,
                           [](int rank, bootstrap&, comm_params& p, one_sided_config&) {
                             if (rank == 2) p.hidden_size = 48;
                           }),
                 {"hidden_size is 48 on rank 2 and 32 on rank 0"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap&, comm_params&, one_sided_config& c) {
                             if (rank == 1) c.timeout = std::chrono::seconds(7);
                           }),
                 {"timeout (ns) is 7000000000 on rank 1"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap&, comm_params&, one_sided_config& c) {
                             if (rank == 1) c.lamport = choice::off;
                           }),
                 {"lamport is 0 on rank 1 and 1 on rank 0"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap&, comm_params&, one_sided_config& c) {
                             if (rank == 1) c.lamport_max_tokens = 1;
                           }),
                 {"lamport_max_tokens is 1 on rank 1 and 256 on rank 0"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap&, comm_params&, one_sided_config& c) {
                             if (rank == 1) c.low_precision_combine = low_precision::fp8;
                           }),
                 {"low_precision_combine is 1 on rank 1 and 0 on rank 0"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap& b, comm_params&, one_sided_config&) {
                             if (rank == 1) b.first_epoch = 9;
                           }),
                 {"first_epoch is 9 on rank 1"});
}

TEST(construction, what_is_on_must_be_available) {
  expect_all_say(construct(2, [](int, bootstrap&, comm_params&, one_sided_config& c) { c.enable_pdl = choice::on; }),
                 {"enable_pdl is on", "GPUs only"});
  expect_all_say(construct(2,
                           [](int rank, bootstrap&, comm_params&, one_sided_config& c) {
                             if (rank == 1) c.enable_pdl = choice::off;
                           }),
                 {"enable_pdl is 0 on rank 1"});
}

TEST(construction, a_rank_without_memory_fails_all) {
  struct no_memory final : std::pmr::memory_resource {
    void* do_allocate(std::size_t, std::size_t) override { throw std::bad_alloc(); }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    [[nodiscard]] bool do_is_equal(const memory_resource& o) const noexcept override { return this == &o; }
  } none;
  expect_all_say(construct(2,
                           [&](int rank, bootstrap& b, comm_params&, one_sided_config&) {
                             if (rank == 1) b.host_memory = &none;
                           }),
                 {"rank 1", "could not be had"});
}

TEST(construction, a_rank_that_does_not_come_is_named) {
  const auto backends = make_in_process_backends(2);
  bootstrap boot;
  boot.ep_size = 2;
  boot.comm_backend = backends[0];
  one_sided_config config;
  config.warmup_timeout = std::chrono::milliseconds(100);
  try {
    const one_sided_all_to_all alone(boot, good, config);
    ADD_FAILURE() << "constructed without rank 1";
  } catch (const peer_fault& e) {
    EXPECT_NE(std::string(e.what()).find("rank(s) 1"), std::string::npos) << e.what();
  }
}

TEST(construction, bootstrap_must_fit_its_backend) {
  const auto backends = make_in_process_backends(1);
  bootstrap boot;
  EXPECT_THROW(one_sided_all_to_all(boot, good), invalid_argument);  // no backend
  boot.comm_backend = backends[0];
  boot.ep_size = 2;
  EXPECT_THROW(one_sided_all_to_all(boot, good), invalid_argument);
  boot.ep_size = 1;
  boot.rank = 1;
  EXPECT_THROW(one_sided_all_to_all(boot, good), invalid_argument);
}

struct rule {
  const char* words;
  void (*breaks)(comm_params&, one_sided_config&, int& ep_size);
};

TEST(rules, each_is_enforced_and_named) {
  const rule rules[] = {
      {"ep_size is 0", [](comm_params&, one_sided_config&, int& ranks) { ranks = 0; }},
      {"ep_size is 257",
       [](comm_params& p, one_sided_config&, int& ranks) {
         ranks = 257;
         p.num_experts = 300;
       }},
      {"num_experts is 0", [](comm_params& p, one_sided_config&, int&) { p.num_experts = 0; }},
      {"num_experts is 3, must be at least ep_size = 4",
       [](comm_params& p, one_sided_config&, int&) { p.num_experts = 3; }},
      {"num_experts is 2147483648", [](comm_params& p, one_sided_config&, int&) { p.num_experts = 1LL << 31; }},
      {"top_k is 0", [](comm_params& p, one_sided_config&, int&) { p.top_k = 0; }},
      {"top_k is 33",
       [](comm_params& p, one_sided_config&, int&) {
         p.top_k = 33;
         p.num_experts = 64;
       }},
      {"top_k is 9, must be at most num_experts = 8", [](comm_params& p, one_sided_config&, int&) { p.top_k = 9; }},
      {"max_tokens_per_rank is 0", [](comm_params& p, one_sided_config&, int&) { p.max_tokens_per_rank = 0; }},
      {"hidden_size is -1", [](comm_params& p, one_sided_config&, int&) { p.hidden_size = -1; }},
      {"hidden_size is 16777217", [](comm_params& p, one_sided_config&, int&) { p.hidden_size = (1 << 24) + 1; }},
      {"invalid_expert_id is 0", [](comm_params& p, one_sided_config&, int&) { p.invalid_expert_id = 0; }},
      {"timeout is 999999",
       [](comm_params&, one_sided_config& c, int&) { c.timeout = std::chrono::nanoseconds(999'999); }},
      {"timeout is 86400000000001", [](comm_params&, one_sided_config& c,
                                       int&) { c.timeout = std::chrono::hours(24) + std::chrono::nanoseconds(1); }},
      {"warmup_timeout is 1",
       [](comm_params&, one_sided_config& c, int&) { c.warmup_timeout = std::chrono::nanoseconds(1); }},
      {"max_blocks is -1", [](comm_params&, one_sided_config& c, int&) { c.max_blocks = -1; }},
      {"lamport is 3", [](comm_params&, one_sided_config& c, int&) { c.lamport = static_cast<choice>(3); }},
      {"lamport_max_tokens is 0", [](comm_params&, one_sided_config& c, int&) { c.lamport_max_tokens = 0; }},
      {"low_precision_combine is 3, must be 0 .. 2",
       [](comm_params&, one_sided_config& c, int&) { c.low_precision_combine = static_cast<low_precision>(3); }},
      {"extra_payload_bytes_per_token",
       [](comm_params&, one_sided_config& c, int&) { c.extra_payload_bytes_per_token = 1 << 25; }},
      {"below 2^32",
       [](comm_params& p, one_sided_config&, int& ranks) {
         p = {8, 1, (1 << 30) - 1, 1};
         ranks = 5;
       }},
      {"below 2^46",
       [](comm_params& p, one_sided_config&, int& ranks) {
         p = {1024, 8, 1 << 29, 1 << 20};
         ranks = 256;
       }},
  };
  for (const auto& one : rules) {
    auto params = good;
    one_sided_config config;
    int ep_size = 4;
    one.breaks(params, config, ep_size);
    try {
      (void)workspace_bytes(params, config, ep_size);
      ADD_FAILURE() << "not enforced: " << one.words;
    } catch (const invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(one.words), std::string::npos) << e.what() << " / " << one.words;
    }
  }
}

TEST(rules, dispatch_inputs_are_checked_before_anything_is_enqueued) {
  alignas(16) static std::array<std::byte, 4096> memory{};
  one_sided_config config;
  const auto inputs = [&] {
    dispatch_inputs in;
    in.num_tokens = 4;
    in.hidden_states = {memory.data(), 64, true};
    in.topk_ids = {memory.data(), 8, true};
    return in;
  };
  EXPECT_NO_THROW(check_dispatch(inputs(), 16, good, config));
  const std::vector<std::pair<std::string, std::function<void(dispatch_inputs&)>>> broken{
      {"num_tokens is 17", [](auto& in) { in.num_tokens = 17; }},
      {"num_tokens is -1", [](auto& in) { in.num_tokens = -1; }},
      {"hidden_states.present is false", [](auto& in) { in.hidden_states.present = false; }},
      {"topk_ids.present is false", [](auto& in) { in.topk_ids.present = false; }},
      {"hidden_states.row_bytes is 65, must be at most the capacity of 64",
       [](auto& in) { in.hidden_states.row_bytes = 65; }},
      {"hidden_states.row_bytes is 0", [](auto& in) { in.hidden_states.row_bytes = 0; }},
      {"hidden_states.data is null", [](auto& in) { in.hidden_states.data = nullptr; }},
      {"hidden_states.data is 8 bytes past a multiple of 16",
       [](auto& in) { in.hidden_states.data = memory.data() + 8; }},
      {"topk_ids.row_bytes is 4, must be 4 * top_k = 8", [](auto& in) { in.topk_ids.row_bytes = 4; }},
      {"hidden_states_scale.row_bytes is 1, must be at most the capacity of 0",
       [](auto& in) {
         in.hidden_states_scale = {memory.data(), 1, true};
       }},
      {"extra.row_bytes is 1",
       [](auto& in) {
         in.extra = {memory.data(), 1, true};
       }},
      {"topk_weights.row_bytes is 9",
       [](auto& in) {
         in.topk_weights = {memory.data(), 9, true};
       }},
  };
  for (const auto& [words, change] : broken) {
    auto in = inputs();
    change(in);
    try {
      check_dispatch(in, 16, good, config);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  }
  auto empty = inputs();
  empty.num_tokens = 0;
  empty.hidden_states.data = nullptr;
  empty.topk_ids.data = nullptr;
  EXPECT_NO_THROW(check_dispatch(empty, 16, good, config));
  EXPECT_THROW(check_tokens_per_rank(0, good), invalid_argument);
  EXPECT_THROW(check_tokens_per_rank(17, good), invalid_argument);
}

TEST(dispatch_formats, bytes_per_token_are_exact) {
  const auto bytes = [](std::int64_t hidden, std::optional<dispatch_format> format) {
    return comm_params{.hidden_size = hidden, .dispatch_format = format}.dispatch_bytes_per_token();
  };
  EXPECT_EQ(bytes(7168, std::nullopt), 14336U);
  EXPECT_EQ(bytes(7168, dispatch_format::bf16), 14336U);
  EXPECT_EQ(bytes(7168, dispatch_format::fp8), 7168U);
  EXPECT_EQ(bytes(7168, dispatch_format::fp8_block128), 7168U + 4 * 56);
  EXPECT_EQ(bytes(2880, dispatch_format::fp8_block128), 2880U + 4 * 23);
  EXPECT_EQ(bytes(2880, dispatch_format::mxfp8), 2880U + 90);
  EXPECT_EQ(bytes(4096, dispatch_format::nvfp4), 2048U + 256);
  EXPECT_EQ(bytes(33, dispatch_format::nvfp4), 17U + 3);
  EXPECT_EQ(bytes(33, dispatch_format::mxfp4), 17U + 2);
  EXPECT_EQ((comm_params{.hidden_size = 10, .dtype = dtype::fp32}.dispatch_bytes_per_token()), 40U);
}

}  // namespace
}  // namespace switchyard
