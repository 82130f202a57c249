// SPDX-License-Identifier: Apache-2.0
// The CUDA fabric with one rank that stores a byte where it must not, in stream order behind one of its launches.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "fabric/cuda/cuda_fabric.hpp"
#include "injection/forwarding_workspace.hpp"

namespace switchyard::harness {

/// A rank's own workspace. What a launch is given has no layout yet.
struct own_workspace {
  layout::workspace_layout layout;
  std::byte* data = nullptr;
  [[nodiscard]] std::byte* at(layout::region region) const { return data + layout.offset_of(region); }
  [[nodiscard]] std::byte* behind(layout::region region) const { return at(region) + layout.size_of(region); }
};

/// Where the byte goes; null: nowhere.
struct planted_store {
  std::function<const std::byte*(const protocol::dispatch_params&, const own_workspace&)> after_dispatch = {};
  std::function<const std::byte*(const protocol::combine_params&, const own_workspace&)> after_combine = {};
  int step = 2;
  std::byte value{0x5A};
  bool reads_where_nothing_is = false;  ///< dispatch of that step: an error that the device never recovers from
};

class storing_workspace final : public injection::forwarding_workspace {
 public:
  storing_workspace(std::unique_ptr<fabric_workspace> right, planted_store planted,
                    const layout::workspace_layout& layout)
      : forwarding_workspace(std::move(right)), planted_(std::move(planted)), own_{layout, data()} {
    (void)cudaMallocHost(reinterpret_cast<void**>(&byte_), 1);
    *byte_ = planted_.value;
  }
  ~storing_workspace() override { (void)cudaFreeHost(byte_); }

  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    auto given = params;
    if (dispatches_ == planted_.step && planted_.reads_where_nothing_is) {
      given.routing.ids = reinterpret_cast<const std::int32_t*>(std::uintptr_t{4096});
    }
    right().launch(given, plan, stream);
    if (dispatches_++ == planted_.step && planted_.after_dispatch) store(planted_.after_dispatch(params, own_), stream);
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    right().launch(params, plan, stream);
    if (combines_++ == planted_.step && planted_.after_combine) store(planted_.after_combine(params, own_), stream);
  }

 private:
  void store(const std::byte* place, stream_ref stream) {
    if (place == nullptr) return;
    (void)cudaMemcpyAsync(const_cast<std::byte*>(place), byte_, 1, cudaMemcpyHostToDevice, stream.cuda());
  }

  planted_store planted_;
  own_workspace own_;
  std::byte* byte_ = nullptr;
  int dispatches_ = 0;
  int combines_ = 0;
};

class storing_fabric final : public fabric {
 public:
  explicit storing_fabric(planted_store planted) : planted_(std::move(planted)) {}
  [[nodiscard]] support available(int device) const override { return right_->available(device); }
  [[nodiscard]] fabric_kind stream_kind() const override { return right_->stream_kind(); }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::make_unique<storing_workspace>(right_->open(request), planted_, request.layout);
  }

 private:
  std::shared_ptr<fabric> right_ = cuda::make_cuda_fabric();
  planted_store planted_;
};

}  // namespace switchyard::harness
