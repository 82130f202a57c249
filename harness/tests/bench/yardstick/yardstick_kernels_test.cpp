// SPDX-License-Identifier: Apache-2.0
// The kernels beside NCCL's calls and those that check them, one GPU, against what the CPU says; and planted errors.
#include "yardstick_kernels.hpp"

#include <cstring>

#include "../../../src/bench/device_check.hpp"
#include "../gpu/needs_two_gpus.hpp"
#include "exact_element.hpp"
#include "exact_rows.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint32_t elements = 64;
constexpr std::uint32_t tokens = 5;
constexpr std::size_t row_bytes = elements * sizeof(std::uint16_t);

const std::int32_t* numbers(const device_bytes& memory) { return static_cast<const std::int32_t*>(memory.get()); }

std::vector<std::uint16_t> download(const void* from, std::size_t count) {
  std::vector<std::uint16_t> result(count);
  check_cuda(cudaMemcpy(result.data(), from, count * sizeof result[0], cudaMemcpyDeviceToHost), "reading back");
  return result;
}

/// bf16 of a small integer: exact, so the upper half of the float.
std::uint16_t bf16_of(int value) {
  const auto real = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &real, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

class yardstick_kernels : public needs_two_gpus {
 protected:
  void SetUp() override {
    needs_two_gpus::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    check_cuda(cudaSetDevice(0), "making a device current");
    stream_ = make_stream();
  }
  [[nodiscard]] device_bytes rows_of(std::uint32_t rank, const std::vector<std::int32_t>& of_tokens) const {
    const auto table = upload(std::span<const std::int32_t>(of_tokens));
    auto rows = take_device(of_tokens.size() * row_bytes);
    launch_exact_rows(
        {bytes_of(rows), numbers(table), static_cast<std::uint32_t>(of_tokens.size()), elements, rank, dtype::bf16},
        stream_.get());
    check_cuda(cudaStreamSynchronize(stream_.get()), "rows");
    return rows;
  }
  /// By how many elements `rows` differ from the sums of the owners in `masks`.
  [[nodiscard]] std::uint64_t wrong_sums(const device_bytes& rows, const std::vector<std::uint32_t>& masks) const {
    const auto table = upload(std::span<const std::uint32_t>(masks));
    const std::uint64_t zero = 0;
    const auto counter = upload(std::span<const std::uint64_t>(&zero, 1));
    launch_sum_check({bytes_of(rows), static_cast<const std::uint32_t*>(table.get()), tokens, 0, elements, dtype::bf16,
                      static_cast<unsigned long long*>(counter.get())},
                     stream_.get());
    std::uint64_t wrong = 0;
    check_cuda(cudaStreamSynchronize(stream_.get()), "checking");
    check_cuda(cudaMemcpy(&wrong, counter.get(), sizeof wrong, cudaMemcpyDeviceToHost), "reading a counter");
    return wrong;
  }
  owned_stream stream_;
};

TEST_F(yardstick_kernels, rows_of_experts_are_those_that_the_host_knows) {
  const auto is = download(rows_of(1, {4, -1}).get(), 2 * elements);
  for (std::uint32_t e = 0; e < elements; ++e) {
    EXPECT_EQ(is[e], bf16_of(exact_element(1, 4, e))) << e;
    EXPECT_EQ(is[elements + e], 0) << e;
  }
}

TEST_F(yardstick_kernels, sums_are_right_and_one_wrong_element_is_found) {
  // Token 0 to ranks 0 and 1, token 1 to 0 alone, 2 to 1 alone, 3 to none, 4 to both. Rank 0's rows are local.
  const std::vector<std::uint32_t> masks{0b11, 0b01, 0b10, 0, 0b11};
  const auto local = rows_of(0, {0, 1, 4});
  const auto remote = rows_of(1, {0, 2, 4});
  const std::vector<std::int32_t> places{local_place(0), remote_place(0), local_place(1), no_place,
                                         no_place,       remote_place(1), no_place,       no_place,
                                         local_place(2), remote_place(2)};
  const auto table = upload(std::span<const std::int32_t>(places));
  const auto out = take_device(tokens * row_bytes);
  sum_parameters parameters{bytes_of(remote), bytes_of(local), numbers(table), bytes_of(out), tokens, 2,
                            elements,         dtype::bf16};
  launch_sum(parameters, stream_.get());
  EXPECT_EQ(wrong_sums(out, masks), 0U);
  const auto is = download(out.get(), tokens * elements);
  for (std::uint32_t e = 0; e < elements; ++e) {
    EXPECT_EQ(is[e], bf16_of(exact_element(0, 0, e) + exact_element(1, 0, e))) << e;
    EXPECT_EQ(is[3 * elements + e], 0) << e;
  }
  // Planted: one element, a lost row, two rows in each other's place.
  const auto planted = bf16_of(100);
  check_cuda(cudaMemcpy(bytes_of(out) + 2 * row_bytes + 6, &planted, sizeof planted, cudaMemcpyHostToDevice),
             "planting");
  EXPECT_EQ(wrong_sums(out, masks), 1U);
  auto lost = places;
  lost[9] = no_place;
  const auto lost_table = upload(std::span<const std::int32_t>(lost));
  parameters.places = numbers(lost_table);
  launch_sum(parameters, stream_.get());
  EXPECT_GT(wrong_sums(out, masks), elements / 2);  // where the lost value is 0 the sum is right by chance
  auto swapped = places;
  std::swap(swapped[1], swapped[5]);
  const auto swapped_table = upload(std::span<const std::int32_t>(swapped));
  parameters.places = numbers(swapped_table);
  launch_sum(parameters, stream_.get());
  EXPECT_GT(wrong_sums(out, masks), elements);
}

TEST_F(yardstick_kernels, packed_rows_have_every_payload_and_zeros_between) {
  // Widths that are multiples of 16, of 4 and of neither, as the profiles have them.
  constexpr std::array<std::uint32_t, 3> widths{32, 24, 90};
  std::array<std::vector<std::byte>, 3> payloads;
  std::vector<device_bytes> uploaded;
  pack_parameters parameters;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    for (std::uint32_t b = 0; b < tokens * widths[i]; ++b) payloads[i].push_back(static_cast<std::byte>(b * 7 + i + 1));
    uploaded.push_back(upload(std::span<const std::byte>(payloads[i])));
    parameters.pieces[i] = {bytes_of(uploaded.back()), widths[i], parameters.pitch_bytes};
    parameters.pitch_bytes += (widths[i] + 15) / 16 * 16;
  }
  const std::vector<std::int32_t> which{3, 0, 4};
  const std::vector<std::int32_t> places{remote_place(1), local_place(0), remote_place(0)};
  const auto which_table = upload(std::span<const std::int32_t>(which));
  const auto place_table = upload(std::span<const std::int32_t>(places));
  const auto pitch = parameters.pitch_bytes;
  const auto remote = take_device(2 * pitch);
  const auto local = take_device(pitch);
  check_cuda(cudaMemset(remote.get(), 0xCD, 2 * pitch), "spoiling");
  check_cuda(cudaMemset(local.get(), 0xCD, pitch), "spoiling");
  parameters.rows = 3;
  parameters.tokens = numbers(which_table);
  parameters.places = numbers(place_table);
  parameters.remote = bytes_of(remote);
  parameters.local = bytes_of(local);
  launch_pack(parameters, stream_.get());
  check_cuda(cudaStreamSynchronize(stream_.get()), "packing");
  const auto expected_row = [&](std::size_t token) {
    std::vector<std::byte> row(pitch);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      std::memcpy(row.data() + parameters.pieces[i].offset, payloads[i].data() + token * widths[i], widths[i]);
    }
    return row;
  };
  const auto row_at = [&](const device_bytes& memory, std::size_t row) {
    std::vector<std::byte> is(pitch);
    check_cuda(cudaMemcpy(is.data(), bytes_of(memory) + row * pitch, pitch, cudaMemcpyDeviceToHost), "reading back");
    return is;
  };
  EXPECT_EQ(row_at(remote, 0), expected_row(4));
  EXPECT_EQ(row_at(remote, 1), expected_row(3));
  EXPECT_EQ(row_at(local, 0), expected_row(0));
}

}  // namespace
}  // namespace switchyard::harness
