// SPDX-License-Identifier: Apache-2.0
//
// kvpage/export.h
//
// KVPAGE_EXPORT marks what a shared build of kvpage shows to its users. The library is compiled
// with hidden visibility, so a class or function without the mark stays inside it.

#ifndef KVPAGE_EXPORT_H_
#define KVPAGE_EXPORT_H_

#define KVPAGE_EXPORT __attribute__((visibility("default")))

#endif  // KVPAGE_EXPORT_H_
