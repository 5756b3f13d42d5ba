/* A stand-in for a profiler that listens to NVTX, in two forms.
 *
 * As an injection (NVTX_INJECTION64_PATH) it fills the tables that a program offers, as NVTX 3's
 * nvtxTypes.h describes them. Built with -DLIBRARY it is NVTX's own shared library instead. Either
 * way it writes one line per call to the file that NVTX_TOOL_LOG names. With NVTX_TOOL_REFUSES it
 * does not want the program; with NVTX_TOOL_PARTLY it leaves start and end alone.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LIBRARY
#define NAME(x) nvtx##x
#define WHERE
#else
#define NAME(x) tool##x
#define WHERE static
#endif

static uint64_t ranges;

static void say(const char *what, const char *name, unsigned long long number) {
  FILE *file = fopen(getenv("NVTX_TOOL_LOG"), "a");
  fprintf(file, "%s %s %llu\n", what, name, number);
  fclose(file);
}

WHERE int NAME(RangePushA)(const char *name) { say("push", name, 0); return 0; }
WHERE int NAME(RangePop)(void) { say("pop", "-", 0); return 0; }
WHERE uint64_t NAME(RangeStartA)(const char *name) {
  /* A number that does not fit into 32 bits. */
  uint64_t number = ++ranges << 33;
  say("start", name, number >> 33);
  return number;
}
WHERE void NAME(RangeEnd)(uint64_t number) { say("end", "-", number >> 33); }

#ifndef LIBRARY
typedef void (*Function)(void);
typedef struct {
  size_t size;
  int (*module)(int module, Function ***table, unsigned *size);
} Callbacks;
typedef struct {
  size_t size;
  uint32_t version, reserved;
  void (*set)(uint32_t version);
} Info;

int InitializeInjectionNvtx2(const void *(*get)(uint32_t)) {
  static const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  const Callbacks *callbacks = get(1);
  const Info *info = get(3);
  if (getenv("NVTX_TOOL_REFUSES")) return 0;
  if (get(2) || callbacks->size != sizeof *callbacks || info->size != sizeof *info) abort();
  if (info->version != 3) abort();
  info->set(3);
  for (int module = 1; module <= 6; ++module) {
    Function **table = NULL;
    unsigned size = 0;
    if (!callbacks->module(module, &table, &size) || size != sizes[module]) abort();
    if (table[0] || table[size]) abort();
    for (unsigned n = 1; n < size; ++n) *table[n] = NULL; /* every place can be written */
    if (!callbacks->module(module, NULL, NULL)) abort();
  }
  if (callbacks->module(7, NULL, NULL)) abort();
  Function **core;
  callbacks->module(1, &core, NULL);
  *core[9] = (Function)toolRangePushA;
  *core[11] = (Function)toolRangePop;
  if (getenv("NVTX_TOOL_PARTLY")) return 1;
  *core[5] = (Function)toolRangeStartA;
  *core[7] = (Function)toolRangeEnd;
  return 1;
}
#endif
