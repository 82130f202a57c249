// SPDX-License-Identifier: Apache-2.0
#include "device_reader.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>

namespace switchyard::harness {
namespace {

// NVML's interface, from its documentation: its header comes with few toolkits.
constexpr int success = 0;
constexpr unsigned sm_clock = 1;
constexpr unsigned memory_clock = 2;
constexpr unsigned gpu_sensor = 0;
constexpr unsigned corrected = 0;
constexpr unsigned uncorrected = 1;
constexpr unsigned since_load = 0;
constexpr unsigned all_links = ~0U;

constexpr unsigned crc_flit_errors = 38;
constexpr unsigned crc_data_errors = 45;
constexpr unsigned replay_errors = 52;
constexpr unsigned recovery_errors = 59;
constexpr unsigned data_tx = 138;
constexpr unsigned data_rx = 139;
constexpr unsigned raw_tx = 140;
constexpr unsigned raw_rx = 141;
constexpr unsigned link_speed_mb_s = 90;
constexpr unsigned link_count = 91;

struct field_value {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency_us = 0;
  unsigned type = 0;
  int result = 0;
  union {
    unsigned long long wide;
    unsigned narrow;
    double real;
  } value{};
};
static_assert(sizeof(field_value) == 40);

std::optional<std::uint64_t> number_in(const field_value& field) {
  constexpr unsigned type_u32 = 1;
  if (field.result != success) return std::nullopt;
  return field.type == type_u32 ? field.value.narrow : field.value.wide;
}

}  // namespace

struct nvml_library {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_bus_id)(const char*, void**) = nullptr;
  int (*clock_info)(void*, unsigned, unsigned*) = nullptr;
  int (*throttle_reasons)(void*, unsigned long long*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*total_ecc_errors)(void*, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*field_values)(void*, int, field_value*) = nullptr;

  /// False when the function is not there.
  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
};

namespace {

/// Throttle reasons have a newer name, their values are the same.
bool find_all(nvml_library& nvml) {
  return nvml.find("nvmlInit_v2", nvml.init) && nvml.find("nvmlShutdown", nvml.shutdown) &&
         nvml.find("nvmlSystemGetDriverVersion", nvml.driver_version) &&
         nvml.find("nvmlDeviceGetHandleByPciBusId_v2", nvml.device_by_bus_id) &&
         nvml.find("nvmlDeviceGetClockInfo", nvml.clock_info) &&
         (nvml.find("nvmlDeviceGetCurrentClocksEventReasons", nvml.throttle_reasons) ||
          nvml.find("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.throttle_reasons)) &&
         nvml.find("nvmlDeviceGetTemperature", nvml.temperature) &&
         nvml.find("nvmlDeviceGetTotalEccErrors", nvml.total_ecc_errors) &&
         nvml.find("nvmlDeviceGetFieldValues", nvml.field_values);
}

template <class Number, class Read>
void read_into(std::optional<Number>& value, Read read) {
  std::remove_cvref_t<Number> number{};
  if (read(&number) == success) value = number;
}

std::optional<std::uint64_t> read_counter(int (*read)(void*, unsigned, unsigned, unsigned long long*), void* handle,
                                          unsigned kind) {
  unsigned long long count = 0;
  if (read(handle, kind, since_load, &count) != success) return std::nullopt;
  return count;
}

void read_marks_of(const nvml_library& nvml, void* handle, device_state& state) {
  read_into(state.sm_clock_mhz, [&](auto* value) { return nvml.clock_info(handle, sm_clock, value); });
  read_into(state.memory_clock_mhz, [&](auto* value) { return nvml.clock_info(handle, memory_clock, value); });
  unsigned long long reasons = 0;
  if (nvml.throttle_reasons(handle, &reasons) == success) state.throttle_reasons = reasons;
  state.ecc_corrected = read_counter(nvml.total_ecc_errors, handle, corrected);
  state.ecc_uncorrected = read_counter(nvml.total_ecc_errors, handle, uncorrected);
}

void read_links_of(const nvml_library& nvml, void* handle, device_state& state) {
  std::array<field_value, 8> fields{};
  constexpr std::array names{data_tx,         data_rx,         raw_tx,        raw_rx,
                             crc_flit_errors, crc_data_errors, replay_errors, recovery_errors};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].field = names[i];
    if (i < 4) fields[i].scope = all_links;  // the errors are totals by their name
  }
  if (nvml.field_values(handle, static_cast<int>(fields.size()), fields.data()) != success) return;
  state.nvlink_data_tx_kib = number_in(fields[0]);
  state.nvlink_data_rx_kib = number_in(fields[1]);
  state.nvlink_raw_tx_kib = number_in(fields[2]);
  state.nvlink_raw_rx_kib = number_in(fields[3]);
  for (std::size_t i = 4; i < fields.size(); ++i) {
    if (const auto errors = number_in(fields[i])) state.nvlink_errors = state.nvlink_errors.value_or(0) + *errors;
  }
}

void* handle_of(const nvml_library& nvml, int device) {
  std::array<char, 32> bus_id{};
  void* handle = nullptr;
  if (cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), device) != cudaSuccess) return nullptr;
  return nvml.device_by_bus_id(bus_id.data(), &handle) == success ? handle : nullptr;
}

}  // namespace

device_reader::device_reader(int devices) : nvml_(std::make_unique<nvml_library>()) {
  handles_.resize(static_cast<std::size_t>(devices));
  nvml_->library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (nvml_->library == nullptr || !find_all(*nvml_) || nvml_->init() != success) {
    why_not_ = nvml_->library == nullptr ? "libnvidia-ml.so.1 cannot be loaded" : "libnvidia-ml.so.1 cannot be used";
    nvml_.reset();
    return;
  }
  std::array<char, 96> version{};
  if (nvml_->driver_version(version.data(), version.size()) == success) driver_version_ = version.data();
  for (int device = 0; device < devices; ++device)
    handles_[static_cast<std::size_t>(device)] = handle_of(*nvml_, device);
}

device_reader::~device_reader() {
  if (nvml_) (void)nvml_->shutdown();
}

std::vector<device_state> device_reader::read() const {
  auto states = read_marks();
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    if (handles_[i] == nullptr) continue;
    read_into(states[i].temperature_c, [&](auto* value) { return nvml_->temperature(handles_[i], gpu_sensor, value); });
    read_links_of(*nvml_, handles_[i], states[i]);
  }
  return states;
}

device_reader::link_facts device_reader::links(int device) const {
  link_facts facts;
  auto* handle = handles_.at(static_cast<std::size_t>(device));
  std::array<field_value, 2> fields{};
  fields[0].field = link_count;
  fields[1].field = link_speed_mb_s;
  if (handle == nullptr || nvml_->field_values(handle, 2, fields.data()) != success) return facts;
  if (const auto count = number_in(fields[0])) facts.count = static_cast<std::uint32_t>(*count);
  if (const auto speed = number_in(fields[1])) facts.mb_s = static_cast<std::uint32_t>(*speed);
  return facts;
}

std::vector<device_state> device_reader::read_marks() const {
  std::vector<device_state> states(handles_.size());
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    if (handles_[i] != nullptr) read_marks_of(*nvml_, handles_[i], states[i]);
  }
  return states;
}

}  // namespace switchyard::harness
