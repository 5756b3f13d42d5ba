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
// none: CUPTI calls back in its worker's, or in one of the program's.
//
// The program must not notice. No descriptor stays open: one that it closes, as daemons close all,
// could be the number of a file of its own by the next write. No memory is shared with what a child
// writes at its end, as a FILE's buffer is. A write that a limit refuses (RLIMIT_FSIZE) ends nobody.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kSuccess = 0, kConcurrentKernel = 10, kForced = 1 };
enum { kBufferBytes = 1 << 20, kAlignment = 8, kFlushMs = 200, kBuckets = 4096 };
enum { kTextBytes = 1 << 16, kLineBytes = 512 };

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

typedef struct {
  sigset_t signals;
  int cancelling, error;
} Before;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tracing, broken;
static pid_t owner;
static char place[PATH_MAX];  // of this process's file
static char text[kTextBytes];
static size_t used;
static Name *names[kBuckets];
static unsigned name_count;
static uint64_t records, dropped;
static long outstanding;
static char *(*demangle)(const char *, char *, size_t *, int *);

// A handler of the program that calls exit() in the middle would wait for the lock for ever, and so
// would everybody after a thread that is cancelled.
static void enter(Before *before) {
  sigset_t all;
  sigfillset(&all);
  before->error = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancelling);
  pthread_sigmask(SIG_BLOCK, &all, &before->signals);
  pthread_mutex_lock(&lock);
}

static void leave(const Before *before) {
  pthread_mutex_unlock(&lock);
  pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
  pthread_setcancelstate(before->cancelling, NULL);
  errno = before->error;
}

static size_t written(int file) {
  size_t done = 0;
  while (done < used) {
    ssize_t step = write(file, text + done, used - done);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) break;
    done += (size_t)step;
  }
  return done;
}

// What cannot be written is missing, and so is all that would come after it: the end as well.
static void write_out(void) {
  int file = broken ? -1 : open(place, O_WRONLY | O_APPEND | O_CLOEXEC);
  broken = file < 0 || written(file) < used;
  if (broken && errno == EFBIG) {  // the signal that came with it is blocked, and not the program's
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigtimedwait(&limit, NULL, &(struct timespec){0});
  }
  if (file >= 0 && close(file) != 0) broken = 1;
  used = 0;
}

static void put(char character) {
  if (used == sizeof text) write_out();
  text[used++] = character;
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_records) {
  *buffer = aligned_alloc(kAlignment, kBufferBytes);
  *size = *buffer ? kBufferBytes : 0;
  *max_records = 0;
  __atomic_add_fetch(&outstanding, 1, __ATOMIC_RELAXED);
}

static void put_line(const char *line) {
  for (; *line; ++line) put(*line);
}

// A field must stay one: no tab and no line break comes from a name.
static void put_field(const char *field) {
  for (; *field; ++field) put((unsigned char)*field < ' ' ? '?' : *field);
}

static void tell_name(const Name *name) {
  char line[kLineBytes];
  int status = -1;
  char *readable = demangle ? demangle(name->text, NULL, NULL, &status) : NULL;
  snprintf(line, sizeof line, "N\t%u\t", name->number);
  put_line(line);
  put_field(name->text);
  put('\t');
  put_field(readable && status == 0 ? readable : name->text);
  put('\n');
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
  char line[kLineBytes];
  unsigned name = number_of(kernel->name ? kernel->name : "");
  ++records;
  snprintf(line, sizeof line,
           "K\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%u\t%u\t%u\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n",
           kernel->start, kernel->end, kernel->device, kernel->stream, kernel->correlation, name,
           kernel->registers, kernel->shared_static, kernel->shared_dynamic, kernel->grid[0],
           kernel->grid[1], kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2]);
  put_line(line);
}

static void tell_all(uint8_t *buffer, size_t valid) {
  KernelRecord *record = NULL;
  while (valid && cupti.next_record(buffer, valid, &record) == kSuccess)
    if (record->kind == kConcurrentKernel) tell(record);
  write_out();  // a process may end without a word
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  (void)size;
  if (getpid() == owner) {  // in a child that was forked nobody may ever give the lock back
    size_t lost = 0;
    int known = cupti.dropped(context, stream, &lost) == kSuccess;  // may wait for CUPTI's own lock
    Before before;
    enter(&before);
    if (known) dropped += lost;
    if (tracing) tell_all(buffer, valid);
    leave(&before);
  }
  __atomic_sub_fetch(&outstanding, 1, __ATOMIC_RELAXED);
  free(buffer);
}

static void at_exit(void) {
  if (getpid() != owner) return;  // a child that was forked is not the one that traces
  cupti.flush_all(kForced);
  char line[kLineBytes];
  Before before;
  enter(&before);
  snprintf(line, sizeof line, "E\t%" PRIu64 "\t%" PRIu64 "\t%ld\n", records, dropped,
           __atomic_load_n(&outstanding, __ATOMIC_RELAXED));
  put_line(line);
  write_out();
  tracing = 0;
  leave(&before);
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
static int create_new(const char *base) {
  for (int turn = 0; turn < 1000; ++turn) {
    int length = snprintf(place, sizeof place, "%s.%ld.%d", base, (long)owner, turn);
    if (length < 0 || (size_t)length >= sizeof place) return 0;
    int file = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) return close(file) == 0;
    if (errno != EEXIST) return 0;
  }
  return 0;
}

static void tell_process(void) {
  char line[kLineBytes], program[PATH_MAX] = "";
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  uint32_t version = 0;
  if (cupti.get_version) cupti.get_version(&version);
  snprintf(line, sizeof line, "kprof-trace\t1\t%u\t%ld\t", version, (long)owner);
  put_line(line);
  put_field(program);
  put('\n');
}

static void begin(int found) {
  Before before;
  enter(&before);
  tell_process();
  if (found != 1)
    put_line(found ? "F\tthe CUPTI of this process does not trace\n" : "F\tno CUPTI works\n");
  write_out();
  tracing = found == 1;
  leave(&before);
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
  const char *base = getenv("KPROF_TRACE");
  if (owner || !base) return 1;
  owner = getpid();
  if (!create_new(base)) return 1;
  int found = start_loaded();
  if (found == 0) found = start_first(getenv("KPROF_CUPTI"));
  if (found == 1) find_demangler();
  begin(found);
  if (found == 1) {
    cupti.flush_period(kFlushMs);
    atexit(at_exit);
  }
  return 1;
}
