// SPDX-License-Identifier: Apache-2.0
// Marks for code that also runs on a GPU. A compiler of GPU code compiles what bears one for the device alone: a
// translation unit of kernels has no use for the same templates on the host. APART: out of line, so that a role's
// registers are its own, and what runs once on the way to failing costs the paths of every step none. ROLLED: before a
// loop that is short or waits for memory anyway: what is unrolled has to be fetched, and a phase of a small step runs
// every instruction once.
#pragma once

#ifdef __CUDACC__
#define SWITCHYARD_DEVICE __device__
#define SWITCHYARD_DEVICE_APART __device__ __noinline__
#define SWITCHYARD_ROLLED _Pragma("unroll 1")
#else
#define SWITCHYARD_DEVICE
#define SWITCHYARD_DEVICE_APART
#define SWITCHYARD_ROLLED
#endif
