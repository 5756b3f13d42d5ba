// Times every kernel launch of a program with CUPTI's activity records, without replay.
//
// The CUDA driver loads this library into each process that uses a GPU (CUDA_INJECTION64_PATH) and
// calls InitializeInjection. What CUPTI records goes to a file of that process alone, named by
// KPROF_TRACE, as lines of fields between tabs:
//
//   kprof-trace 1 CUPTI-VERSION PID PROGRAM
//   N NUMBER MANGLED DEMANGLED                         a name, before its first launch
//   K START END DEVICE STREAM CORRELATION NAME REGISTERS STATIC DYNAMIC GX GY GZ BX BY BZ
//   F REASON                                           nothing can be traced here
//   E RECORDS DROPPED OUTSTANDING                      the process came to its end
//
// Nothing of CUPTI is needed to build it: the functions it calls have not changed since CUDA 9, and
// neither have the fields it reads, which CUpti_ActivityKernel4 to 10 share. kprof's own threads are
// none: CUPTI calls back in its worker's.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSuccess = 0, kConcurrentKernel = 10, kForced = 1 };
enum { kBufferBytes = 1 << 20, kAlignment = 8, kFlushMs = 200, kBuckets = 4096 };

typedef struct __attribute__((packed)) {
  uint32_t kind;
  uint8_t cache_configuration;
  uint8_t shared_configuration;
  uint16_t registers;
  uint32_t global_cache[2];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t shared_static, shared_dynamic;
  uint32_t local_per_thread, local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char *name;
} KernelRecord;
_Static_assert(offsetof(KernelRecord, name) == 104, "as in CUpti_ActivityKernel4 to 10");

typedef void (*Requested)(uint8_t **, size_t *, size_t *);
typedef void (*Completed)(void *, uint32_t, uint8_t *, size_t, size_t);

static struct {
  int (*get_version)(uint32_t *);
  int (*register_callbacks)(Requested, Completed);
  int (*enable)(int);
  int (*flush_all)(uint32_t);
  int (*flush_period)(uint32_t);
  int (*next_record)(uint8_t *, size_t, KernelRecord **);
  int (*dropped)(void *, uint32_t, size_t *);
} cupti;

typedef struct Name {
  struct Name *next;
  unsigned number;
  char text[];
} Name;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static pid_t owner;
static Name *names[kBuckets];
static unsigned name_count;
static uint64_t records, dropped;
static long outstanding;
static char *(*demangle)(const char *, char *, size_t *, int *);

static void requested(uint8_t **buffer, size_t *size, size_t *max_records) {
  *buffer = aligned_alloc(kAlignment, kBufferBytes);
  *size = *buffer ? kBufferBytes : 0;
  *max_records = 0;
  __atomic_add_fetch(&outstanding, 1, __ATOMIC_RELAXED);
}

// A field must stay one: no tab and no line break comes from a name.
static void put(const char *text) {
  for (; *text; ++text) putc((unsigned char)*text < ' ' ? '?' : *text, out);
}

static void tell_name(const Name *name) {
  int status = -1;
  char *readable = demangle ? demangle(name->text, NULL, NULL, &status) : NULL;
  fprintf(out, "N\t%u\t", name->number);
  put(name->text);
  putc('\t', out);
  put(status == 0 ? readable : name->text);
  putc('\n', out);
  free(readable);
}

static unsigned number_of(const char *text) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char *at = text; *at; ++at) hash = (hash ^ (unsigned char)*at) * 16777619u;
  Name **bucket = &names[hash % kBuckets];
  for (const Name *name = *bucket; name; name = name->next)
    if (strcmp(name->text, text) == 0) return name->number;
  size_t length = strlen(text) + 1;
  Name *name = malloc(sizeof *name + length);
  if (!name) return 0;
  name->next = *bucket;
  name->number = ++name_count;
  memcpy(name->text, text, length);
  *bucket = name;
  tell_name(name);
  return name->number;
}

static void tell(const KernelRecord *kernel) {
  unsigned name = number_of(kernel->name ? kernel->name : "");
  ++records;
  fprintf(out,
          "K\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%u\t%u\t%u\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n",
          kernel->start, kernel->end, kernel->device, kernel->stream, kernel->correlation, name,
          kernel->registers, kernel->shared_static, kernel->shared_dynamic, kernel->grid[0],
          kernel->grid[1], kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2]);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  (void)size;
  pthread_mutex_lock(&lock);
  if (out && getpid() == owner) {
    KernelRecord *record = NULL;
    while (valid && cupti.next_record(buffer, valid, &record) == kSuccess)
      if (record->kind == kConcurrentKernel) tell(record);
    size_t lost = 0;
    if (cupti.dropped(context, stream, &lost) == kSuccess) dropped += lost;
    fflush(out);  // a process may end without a word
  }
  pthread_mutex_unlock(&lock);
  __atomic_sub_fetch(&outstanding, 1, __ATOMIC_RELAXED);
  free(buffer);
}

static void at_exit(void) {
  if (!out || getpid() != owner) return;  // a child that was forked is not the one that traces
  cupti.flush_all(kForced);
  pthread_mutex_lock(&lock);
  fprintf(out, "E\t%" PRIu64 "\t%" PRIu64 "\t%ld\n", records, dropped,
          __atomic_load_n(&outstanding, __ATOMIC_RELAXED));
  fclose(out);
  out = NULL;
  pthread_mutex_unlock(&lock);
}

static int bind_all(void *library) {
  const struct {
    void *place;
    const char *name;
  } wanted[] = {
      {&cupti.get_version, "cuptiGetVersion"},
      {&cupti.register_callbacks, "cuptiActivityRegisterCallbacks"},
      {&cupti.enable, "cuptiActivityEnable"},
      {&cupti.flush_all, "cuptiActivityFlushAll"},
      {&cupti.flush_period, "cuptiActivityFlushPeriod"},
      {&cupti.next_record, "cuptiActivityGetNextRecord"},
      {&cupti.dropped, "cuptiActivityGetNumDroppedRecords"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    void *found = dlsym(library, wanted[i].name);
    if (!found) return 0;
    memcpy(wanted[i].place, &found, sizeof found);
  }
  return 1;
}

static int started(void *library) {
  return library && bind_all(library) && cupti.register_callbacks(requested, completed) == kSuccess &&
         cupti.enable(kConcurrentKernel) == kSuccess;
}

// The process may have CUPTI already (PyTorch links it): two of them in one do not work.
static int start_loaded(void) {
  char name[32];
  for (int major = 20; major >= 11; --major) {
    snprintf(name, sizeof name, "libcupti.so.%d", major);
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library) return started(library) ? 1 : -1;
  }
  return 0;
}

static int start_first(const char *paths) {
  char path[PATH_MAX];
  while (paths && *paths) {
    size_t length = strcspn(paths, ":");
    if (length < sizeof path) {
      memcpy(path, paths, length);
      path[length] = 0;
      if (started(dlopen(path, RTLD_LAZY | RTLD_LOCAL))) return 1;
    }
    paths += length + (paths[length] == ':');
  }
  return 0;
}

static void find_demangler(void) {
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
  memcpy(&demangle, &found, sizeof found);
}

// One process may become another program, which keeps its number.
static FILE *open_new(const char *base) {
  char path[PATH_MAX];
  for (int turn = 0; turn < 1000; ++turn) {
    snprintf(path, sizeof path, "%s.%ld.%d", base, (long)owner, turn);
    FILE *file = fopen(path, "wxe");
    if (file) return file;
  }
  return NULL;
}

static void tell_process(void) {
  char program[PATH_MAX] = "";
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  uint32_t version = 0;
  if (cupti.get_version) cupti.get_version(&version);
  fprintf(out, "kprof-trace\t1\t%u\t%ld\t", version, (long)owner);
  put(program);
  putc('\n', out);
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
  const char *base = getenv("KPROF_TRACE");
  if (out || !base) return 1;
  owner = getpid();
  if (!(out = open_new(base))) return 1;
  int found = start_loaded();
  if (found == 0) found = start_first(getenv("KPROF_CUPTI"));
  tell_process();
  if (found != 1) {
    fprintf(out, "F\t%s\n", found ? "the CUPTI of this process does not trace" : "no CUPTI works");
    fclose(out);
    out = NULL;
    return 1;
  }
  find_demangler();
  cupti.flush_period(kFlushMs);
  fflush(out);
  atexit(at_exit);
  return 1;
}
