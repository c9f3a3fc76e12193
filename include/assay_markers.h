/* Tells `assay measure` which phase of a program runs; C99 and C++, one header, POSIX.
 *
 *   assay_phase_begin("forward", 32);   // 32 items; 0: not said
 *   ...
 *   assay_phase_end("forward");
 *
 * Where the program does not run under `assay measure` both do nothing. A device that works on its own time must be
 * waited for before the end. Names longer than 100 bytes are cut; quotes, backslashes and control characters become _.
 */
#ifndef ASSAY_MARKERS_H
#define ASSAY_MARKERS_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The inherited pipe, or -1. A descriptor that this process got by chance under that number is not taken. */
static inline int assay_markers_descriptor(void) {
  const char* text = getenv("ASSAY_MARKERS_FD");
  const char* inode = getenv("ASSAY_MARKERS_INODE");
  struct stat facts;
  int descriptor;
  if (text == NULL) return -1;
  descriptor = atoi(text);
  if (descriptor <= 2 || fstat(descriptor, &facts) != 0 || !S_ISFIFO(facts.st_mode)) return -1;
  if (inode != NULL && strtoull(inode, NULL, 10) != (unsigned long long)facts.st_ino) return -1;
  return descriptor;
}

static inline void assay_mark(const char* phase, const char* at, double items) {
  char name[101];
  char line[300];
  struct timespec now;
  int i = 0;
  int length;
  const int descriptor = assay_markers_descriptor();
  if (descriptor < 0) return;
  if (!(items >= 0 && items <= 1e15)) items = 0;
  for (; phase[i] != 0 && i < 100; ++i) {
    const unsigned char c = (unsigned char)phase[i];
    name[i] = (char)(c < 32 || c == '"' || c == '\\' || c == 127 ? '_' : c);
  }
  while (phase[i] != 0 && i > 0 && ((unsigned char)phase[i] & 0xC0) == 0x80) --i; /* Whole characters. */
  name[i] = 0;
  clock_gettime(CLOCK_MONOTONIC, &now);
  length = snprintf(line, sizeof line, "{\"phase\": \"%s\", \"at\": \"%s\", \"time\": %lld.%09ld, \"items\": %.17g}\n",
                    name, at, (long long)now.tv_sec, now.tv_nsec, items);
  if (length > 0 && length < (int)sizeof line && write(descriptor, line, (size_t)length) < 0) return;
}

static inline void assay_phase_begin(const char* phase, double items) {
  assay_mark(phase, "begin", items);
}
static inline void assay_phase_end(const char* phase) {
  assay_mark(phase, "end", 0);
}

#endif
