// Starts commands for one agent, or for one host of its tasks, which asks for them on our standard input and hears of them on our
// standard output (src/execution/forker-frames.ts says how). It is no part of Node because a fork copies the tables of all memory in
// use, of which Node has much, and because Node cannot let a child be born in a control group (clone3): to move it there later, or the
// agent before, stops every fork of the machine.
//
// It ends with the agent: then its input ends. What it started goes on, as it would without an agent.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  READ = 65536,
  FLUSH = 262144,
  MOST_ASKED = 64 * 1024 * 1024, // bytes of one request; arguments and environment of a command are limited by the kernel to less
  ROUND = 64,
  BORN_WAIT_MS = 5, // for what else comes; and how many times at most
  BORN_WAITS = 8,
  HEAD = 9, // of a frame: its length, a letter, a command
  NOTHING = 3, // a descriptor: commands have theirs, 0 to 3, from here on; all others are closed by exec
};

// What is watched of a command: output by its descriptor in the command (1 to 3), that it runs its program, and its end.
enum kind { BORN = 0, END = 4, KINDS = 5 };

struct command;
struct watch {
  struct command *command;
  int fd; // -1: not watched
};
struct command {
  uint32_t id;
  pid_t pid;
  int open; // outputs
  bool ended;
  bool forgotten;
  int status;
  struct watch watches[KINDS];
  struct command *previous, *next;
};

struct bytes {
  char *at;
  size_t length, room;
};

static int polled;
static pid_t agent;
static struct command *commands, *forgotten;
// What was not read to its end, what was not told yet, whether some of that cannot wait, and how often it has waited.
static struct bytes requests, events;
static bool urgent;
static int waits;

static void die(const char *what) {
  perror(what);
  exit(1);
}

// Room for so many bytes more.
static char *more(struct bytes *bytes, size_t count) {
  if (bytes->length + count > bytes->room) {
    bytes->room = (bytes->length + count) * 2;
    bytes->at = realloc(bytes->at, bytes->room);
    if (bytes->at == NULL) die("memory");
  }
  return bytes->at + bytes->length;
}

static uint32_t number(const char *at) {
  const unsigned char *bytes = (const unsigned char *)at;
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_number(char *at, uint32_t value) {
  for (int i = 3; i >= 0; i -= 1, value >>= 8) at[i] = (char)(value & 0xff);
}

// Waits while the agent does not read: meanwhile nothing is read from any command either, so nothing piles up.
static void flush(void) {
  for (size_t from = 0; from < events.length;) {
    ssize_t written = write(1, events.at + from, events.length - from);
    if (written < 0 && errno != EINTR) exit(0);
    if (written > 0) from += (size_t)written;
  }
  events.length = 0;
  urgent = false;
  waits = 0;
}

// Of what was put behind the room for its head.
static void told(char type, uint32_t id, size_t length) {
  char *head = events.at + events.length;
  put_number(head, (uint32_t)(length + HEAD - 4));
  head[4] = type;
  put_number(head + 5, id);
  events.length += HEAD + length;
  if (type != 'B') urgent = true;
  if (events.length > FLUSH) flush();
}

static void tell(char type, uint32_t id) {
  more(&events, HEAD);
  told(type, id, 0);
}

static void tell_number(char type, uint32_t id, uint32_t value) {
  put_number(more(&events, HEAD + 4) + HEAD, value);
  told(type, id, 4);
}

static void watch(struct command *command, int kind, int fd) {
  struct watch *watch = &command->watches[kind];
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};
  watch->fd = fd;
  if (epoll_ctl(polled, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
}

// A child that does not run its program yet has it, too: were it closed alone, it would be watched until then.
static void unwatch(struct command *command, int kind) {
  struct watch *watch = &command->watches[kind];
  if (watch->fd < 0) return;
  epoll_ctl(polled, EPOLL_CTL_DEL, watch->fd, NULL);
  close(watch->fd);
  watch->fd = -1;
}

// Nobody wants any more what is written there. Its memory is given back when this round is over, which may know of it.
static void forget(struct command *command) {
  if (command->forgotten) return;
  command->forgotten = true;
  for (int kind = 0; kind < KINDS; kind += 1) unwatch(command, kind);
  if (command->previous) command->previous->next = command->next;
  else commands = command->next;
  if (command->next) command->next->previous = command->previous;
  command->next = forgotten;
  forgotten = command;
}

static void free_forgotten(void) {
  while (forgotten) {
    struct command *command = forgotten;
    forgotten = command->next;
    free(command);
  }
}

struct order {
  const char *group, *cwd, *uid, *gid, *file;
  char **arguments, **environment;
  int theirs[4]; // -1: none
  int to_born;
};

// In the child. What fails is told by a byte; a pipe that is closed by exec tells that nothing failed.
static _Noreturn void run(const struct order *order) {
  if (setsid() < 0) goto failed;
  for (int fd = 0; fd < 3; fd += 1) {
    if (dup2(order->theirs[fd] < 0 ? NOTHING : order->theirs[fd], fd) < 0) goto failed;
  }
  if (order->theirs[3] >= 0 && dup2(order->theirs[3], 3) < 0) goto failed;
  if (*order->cwd && chdir(order->cwd) < 0) goto failed;
  if (*order->uid) {
    if (!*order->gid) goto failed;
    gid_t gid = (gid_t)strtoul(order->gid, NULL, 10);
    if (setgroups(1, &gid) < 0 || setgid(gid) < 0 || setuid((uid_t)strtoul(order->uid, NULL, 10)) < 0) goto failed;
  }
  signal(SIGPIPE, SIG_DFL);
  // The PATH in which it is looked for is the command's own.
  environ = order->environment;
  execvp(order->file, order->arguments);
failed:
  while (write(order->to_born, "!", 1) < 0 && errno == EINTR) continue;
  _exit(127);
}

// A child that is in this control group from the beginning; `end`: a descriptor that tells of its end.
static pid_t fork_into(const char *group, int *end) {
  // Containers may refuse clone3.
  if (!*group) return (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, end, NULL, NULL);
  int directory = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  struct clone_args how = {
    .flags = CLONE_PIDFD | CLONE_INTO_CGROUP,
    .pidfd = (uint64_t)(uintptr_t)end,
    .cgroup = (uint64_t)directory,
    .exit_signal = SIGCHLD,
  };
  pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
  if (pid != 0) close(directory);
  return pid;
}

static bool pipe_for(int ours_and_theirs[2]) { return pipe2(ours_and_theirs, O_CLOEXEC) == 0; }

// The texts of a request, each ended by a zero.
static char *next_text(char **from, const char *end) {
  char *text = *from;
  if (text > end) return NULL;
  *from = text + strlen(text) + 1;
  return text;
}

static bool start(uint32_t id, char *text, char *end) {
  struct order order = {.theirs = {-1, -1, -1, -1}, .to_born = -1};
  char *fields[8];
  for (int i = 0; i < 8; i += 1) {
    fields[i] = next_text(&text, end);
    if (fields[i] == NULL) return false;
  }
  const char *input = fields[1];
  bool wanted[4] = {false, *fields[2] != 0, *fields[2] != 0, *fields[3] != 0};
  order.group = fields[0];
  order.cwd = fields[4];
  order.uid = fields[5];
  order.gid = fields[6];
  order.file = next_text(&text, end);
  size_t count = strtoul(fields[7], NULL, 10), most = 0;
  for (char *at = text; at <= end; at += strlen(at) + 1) most += 1;
  if (order.file == NULL || count > most) return false;

  // What is done before the fork costs no page that has to be copied for the child.
  char **words = malloc((most + 3) * sizeof *words);
  if (words == NULL) die("memory");
  order.arguments = words;
  *words++ = (char *)order.file;
  for (size_t i = 0; i < count; i += 1) *words++ = next_text(&text, end);
  *words++ = NULL;
  order.environment = words;
  for (char *name; (name = next_text(&text, end)) != NULL; *words++ = name) {
    char *value = next_text(&text, end);
    if (value == NULL) return false;
    value[-1] = '=';
  }
  *words = NULL;

  struct command *command = calloc(1, sizeof *command);
  if (command == NULL) die("memory");
  int ours[KINDS] = {-1, -1, -1, -1, -1}, pair[2];
  bool ready = true;
  // All at once, as each fork gives away what is open.
  for (int fd = 1; fd <= 3 && ready; fd += 1) {
    if (!wanted[fd]) continue;
    ready = pipe_for(pair);
    if (ready) ours[fd] = pair[0], order.theirs[fd] = pair[1];
  }
  if (ready) {
    ready = pipe_for(pair);
    if (ready) ours[BORN] = pair[0], order.to_born = pair[1];
  }
  if (ready && *input) {
    // The agent keeps it open until it knows that the command was born.
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)agent, input);
    order.theirs[0] = open(path, O_RDONLY | O_CLOEXEC);
    ready = order.theirs[0] >= 0;
  }
  if (ready) {
    command->pid = fork_into(order.group, &ours[END]);
    if (command->pid == 0) run(&order);
    ready = command->pid > 0;
  }
  free(order.arguments);
  for (int fd = 0; fd < 4; fd += 1) if (order.theirs[fd] >= 0) close(order.theirs[fd]);
  if (order.to_born >= 0) close(order.to_born);
  if (!ready) {
    for (int kind = 0; kind < KINDS; kind += 1) if (ours[kind] >= 0) close(ours[kind]);
    free(command);
    tell('F', id);
    return true;
  }
  command->id = id;
  command->next = commands;
  if (commands) commands->previous = command;
  commands = command;
  for (int kind = 0; kind < KINDS; kind += 1) {
    command->watches[kind] = (struct watch){command, -1};
    if (ours[kind] < 0) continue;
    watch(command, kind, ours[kind]);
    if (kind != BORN && kind != END) command->open += 1;
  }
  return true;
}

static int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

// It runs its program, or could not.
static void born(struct command *command) {
  char byte;
  ssize_t failed = read(command->watches[BORN].fd, &byte, 1);
  if (failed < 0 && errno == EINTR) return;
  unwatch(command, BORN);
  if (failed <= 0) return tell_number('B', command->id, (uint32_t)command->pid);
  wait_for(command->pid);
  forget(command);
  tell('F', command->id);
}

// Nothing more comes of it.
static void look(struct command *command) {
  if (command->open > 0 || !command->ended) return;
  tell_number('Z', command->id, (uint32_t)command->status);
  forget(command);
}

static void read_output(struct command *command, int fd) {
  char *room = more(&events, HEAD + READ) + HEAD;
  ssize_t count = read(command->watches[fd].fd, room, READ);
  if (count < 0 && errno == EINTR) return;
  if (count > 0) return told((char)('0' + fd), command->id, (size_t)count);
  unwatch(command, fd);
  command->open -= 1;
  look(command);
}

static void ended(struct command *command) {
  if (command->watches[BORN].fd >= 0) born(command);
  if (command->forgotten) return;
  command->status = wait_for(command->pid);
  command->ended = true;
  unwatch(command, END);
  if (command->open > 0) tell_number('X', command->id, (uint32_t)command->status);
  look(command);
}

static void drop(uint32_t id) {
  for (struct command *command = commands; command; command = command->next) {
    if (command->id == id) return forget(command);
  }
}

static void hear(void) {
  ssize_t count = read(0, more(&requests, READ), READ);
  if (count == 0 || (count < 0 && errno != EINTR)) exit(0);
  if (count < 0) return;
  requests.length += (size_t)count;
  size_t from = 0;
  while (requests.length - from >= HEAD) {
    char *frame = requests.at + from;
    size_t length = 4 + (size_t)number(frame);
    if (length < HEAD || length > MOST_ASKED) exit(1);
    if (requests.length - from < length) break;
    // A zero behind the last text, too: the place of what follows, which is put back.
    more(&requests, 1);
    frame = requests.at + from;
    char behind = frame[length];
    frame[length] = 0;
    uint32_t id = number(frame + 5);
    if (frame[4] == 'D') drop(id);
    else if (frame[4] != 'S' || !start(id, frame + HEAD, frame + length)) exit(1);
    frame[length] = behind;
    from += length;
  }
  requests.length -= from;
  memmove(requests.at, requests.at + from, requests.length);
}

int main(void) {
  struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL}, ready[ROUND];
  agent = getppid();
  prctl(PR_SET_NAME, "muster-forker");
  signal(SIGPIPE, SIG_IGN);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || (nothing != NOTHING && dup3(nothing, NOTHING, O_CLOEXEC) < 0)) die("/dev/null");
  // Older than Linux 5.3: the agent starts its commands itself.
  int probe = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (probe < 0) die("pidfd_open");
  close(probe);
  polled = epoll_create1(EPOLL_CLOEXEC);
  if (polled < 0 || epoll_ctl(polled, EPOLL_CTL_ADD, 0, &input) < 0) die("epoll");
  tell('H', 0);
  while (true) {
    if (urgent || waits > BORN_WAITS) flush();
    // That a command was born may wait a little: of most that are short all is told at once then.
    int wait = events.length == 0 ? -1 : BORN_WAIT_MS;
    if (wait > 0) waits += 1;
    int count = epoll_wait(polled, ready, ROUND, wait);
    if (count == 0) flush();
    for (int i = 0; i < count; i += 1) {
      struct watch *watch = ready[i].data.ptr;
      if (watch == NULL) {
        hear();
        continue;
      }
      // What came before it in this round may have closed it.
      if (watch->fd < 0) continue;
      struct command *command = watch->command;
      int kind = (int)(watch - command->watches);
      if (kind == BORN) born(command);
      else if (kind == END) ended(command);
      else read_output(command, kind);
    }
    free_forgotten();
  }
}
