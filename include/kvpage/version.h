// SPDX-License-Identifier: Apache-2.0
//
// kvpage/version.h
//
// The version of kvpage, for #if. This is the only place that states it: the build reads it here.
// While the major version is 0, a new minor version may change the interface.

#ifndef KVPAGE_VERSION_H_
#define KVPAGE_VERSION_H_

#define KVPAGE_VERSION_MAJOR 0
#define KVPAGE_VERSION_MINOR 1
#define KVPAGE_VERSION_PATCH 0

#endif  // KVPAGE_VERSION_H_
