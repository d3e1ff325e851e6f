/* Tally: scan kernels generated for one descriptor. Everything public in one include. */
#ifndef TALLY_H
#define TALLY_H
#include <tally/descriptor.h>
#include <tally/kernel.h>
#include <tally/status.h>
#include <tally/word.h>
#endif
