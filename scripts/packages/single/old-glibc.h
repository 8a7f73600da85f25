/*
 * Included before all of a native module: functions that newer versions of glibc and libstdc++ brought, or moved, are asked for in the
 * form that glibc 2.28 has (Debian 10, RHEL 8). natives.mjs looks at what came of it.
 */
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define STAT_VERSION 1
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#define STAT_VERSION 0
#else
#error "say which version of glibc this architecture began with"
#endif

#define AS_BEFORE(name) __asm__(".symver " #name "," #name "@" OLDEST)
AS_BEFORE(dlopen);
AS_BEFORE(dlclose);
AS_BEFORE(dlerror);
AS_BEFORE(dlsym);
AS_BEFORE(exp);
AS_BEFORE(log);
AS_BEFORE(log2);
AS_BEFORE(pow);
AS_BEFORE(pthread_create);
AS_BEFORE(pthread_join);
AS_BEFORE(pthread_mutex_trylock);
AS_BEFORE(pthread_mutexattr_destroy);
AS_BEFORE(pthread_mutexattr_init);
AS_BEFORE(pthread_mutexattr_settype);
AS_BEFORE(pthread_once);
AS_BEFORE(__xstat64);
AS_BEFORE(__lxstat64);
AS_BEFORE(__fxstat64);

#ifdef __cplusplus
extern "C" {
#endif
#define OWN __attribute__((weak, visibility("hidden")))

extern int __xstat64(int version, const char *path, void *into);
extern int __lxstat64(int version, const char *path, void *into);
extern int __fxstat64(int version, int file, void *into);

OWN int old_stat64(const char *path, void *into) __asm__("stat64");
OWN int old_stat64(const char *path, void *into) { return __xstat64(STAT_VERSION, path, into); }
OWN int old_lstat64(const char *path, void *into) __asm__("lstat64");
OWN int old_lstat64(const char *path, void *into) { return __lxstat64(STAT_VERSION, path, into); }
OWN int old_fstat64(int file, void *into) __asm__("fstat64");
OWN int old_fstat64(int file, void *into) { return __fxstat64(STAT_VERSION, file, into); }

#ifdef __cplusplus
extern void old_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((noreturn));
OWN void old_bad_length(void) __asm__("_ZSt28__throw_bad_array_new_lengthv") __attribute__((noreturn));
OWN void old_bad_length(void) { old_bad_alloc(); }
}
#endif
