// A stand-in for CUPTI's activity records: fake_launch() is what a program calls in place of a
// launch, the rest is what the tracer calls. FAKE_CUPTI makes it fail:
//
//   refuses   no kind of record can be enabled
//   drops     says that a record was lost
//   prompt    hands over every record at once, as the real one does now and then
//   keeps     never gives a buffer back, as when another tool takes over
//   slow      takes a millisecond for each record that the tracer reads
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct __attribute__((packed)) {
  uint32_t kind;
  uint8_t configuration[2];
  uint16_t registers;
  uint32_t global_cache[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t shared[2];
  uint32_t local[2];
  uint32_t correlation;
  int64_t grid_id;
  const char *name;
  char more[104];  // what later versions appended
} Record;
_Static_assert(sizeof(Record) == 216, "as CUpti_ActivityKernel10");

enum { kConcurrentKernel = 10, kOther = 3, kMost = 4096 };

static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint8_t *buffer;
static size_t size, used;
static uint32_t correlation;
static uint64_t now = 1000;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int mode(const char *name) {
  const char *set = getenv("FAKE_CUPTI");
  return set && strcmp(set, name) == 0;
}

int cuptiGetVersion(uint32_t *version) { return *version = 130001, 0; }
int cuptiActivityRegisterCallbacks(void *request, void *complete) {
  memcpy(&requested, &request, sizeof request);
  memcpy(&completed, &complete, sizeof complete);
  return 0;
}
int cuptiActivityEnable(int kind) { return kind != kConcurrentKernel || mode("refuses"); }
int cuptiActivityFlushPeriod(uint32_t period) { return period == 0; }
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count) {
  return (void)context, (void)stream, *count = mode("drops"), 0;
}
int cuptiActivityGetNextRecord(uint8_t *start, size_t valid, Record **record) {
  if (mode("slow")) usleep(1000);
  Record *next = *record ? *record + 1 : (Record *)start;
  if ((uint8_t *)(next + 1) > start + valid) return 12;
  return *record = next, 0;
}
int cuptiActivityFlushAll(uint32_t forced) {
  pthread_mutex_lock(&lock);
  uint8_t *full = !forced || mode("keeps") ? NULL : buffer;
  if (full) buffer = NULL, completed(NULL, 0, full, size, used);
  pthread_mutex_unlock(&lock);
  return 0;
}

void fake_launch(const char *name, int grid, int block, int device, uint64_t nanoseconds) {
  if (!requested) return;
  pthread_mutex_lock(&lock);
  if (buffer && used + 2 * sizeof(Record) > size) cuptiActivityFlushAll(1);
  if (!buffer) {
    size_t most;
    requested(&buffer, &size, &most);
    used = 0;
  }
  Record other = {.kind = kOther}, record = {.kind = kConcurrentKernel, .registers = 32};
  record.start = now;
  record.end = now += nanoseconds;
  record.device = (uint32_t)device;
  record.stream = 7;
  record.grid[0] = grid, record.block[0] = block;
  record.grid[1] = record.grid[2] = record.block[1] = record.block[2] = 1;
  record.correlation = ++correlation;
  record.name = name;
  memcpy(buffer + used, &other, sizeof other);
  memcpy(buffer + used + sizeof other, &record, sizeof record);
  used += 2 * sizeof record;
  if (mode("prompt")) cuptiActivityFlushAll(1);
  pthread_mutex_unlock(&lock);
}
