/* SPDX-License-Identifier: Apache-2.0 */
/* What tells the code of this build from another's: libtally carries it, so that stored code is
 * known as its own without the generator, and the generator carries it, too. */
#ifndef TLY_IDENTITY_H
#define TLY_IDENTITY_H

/* Versions of the interfaces, of the generator and of LLVM, and a hash of the generator's
 * sources. */
extern const char tly_identity[];

#endif
