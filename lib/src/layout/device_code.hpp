// SPDX-License-Identifier: Apache-2.0
// One mark for code that also runs on a GPU. A compiler of GPU code compiles what bears it for the device alone: a
// translation unit of kernels has no use for the same templates on the host.
#pragma once

#ifdef __CUDACC__
#define SWITCHYARD_DEVICE __device__
#else
#define SWITCHYARD_DEVICE
#endif
