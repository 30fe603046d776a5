//! The table of what functions of libraries do to memory. Its form is said in `library.rs`.
//!
//! Streams of the C library are their first eight bytes, which whoever reads from one or prints to one updates, since what comes next
//! depends on it: so two threads that print to the same stream and are not ordered are a pair that can be reversed, which is true.
//! What is written to a file is seen by those who read it only through another opening of it, which is not followed.

/// Functions and what they read and write.
pub(super) const TABLE: &str = "\
memcpy memmove mempcpy __memcpy_chk __memmove_chk __mempcpy_chk: 0w=$2 1r=$2
memset __memset_chk: 0w=$2
bzero explicit_bzero: 0w=$1
bcopy: 0r=$2 1w=$2
memcmp bcmp timingsafe_bcmp: 0r=$2 1r=$2
memchr memrchr: 0r=$2
rawmemchr: 0r=rest
memccpy: 0w=$3 1r=$3
memmem: 0r=$1 2r=$3
swab: 0r=$2 1w=$2
strlen atoi atol atoll atof strdup strchr strrchr strchrnul index rindex: 0r=text0
strnlen strndup: 0r=text0<1
strcpy stpcpy __strcpy_chk __stpcpy_chk: 0w=text1 1r=text1
strncpy stpncpy __strncpy_chk: 0w=$2 1r=text1<2
strcat __strcat_chk: 0u=text0 1r=text1
strncat __strncat_chk: 0u=text0 1r=text1<2
strlcpy: 0w=text1|$2 1r=text1
strlcat: 0u=text0|$2 1r=text1
strcmp strcasecmp strcoll: 0r=text0|text1 1r=text0|text1
strncmp strncasecmp: 0r=text0<2|text1<2 1r=text0<2|text1<2
strstr strcasestr strspn strcspn strpbrk: 0r=text0 1r=text1
strxfrm: 0w=result+1|$2 1r=text1
strtok: 0u=rest 1r=text1 resultu=rest @strtok()u=8
strtok_r __strtok_r: 0u=rest 1r=text1 2u=8 resultu=rest *2u=rest
strsep: 0u=8 1r=text1 resultu=rest *0u=1
strerror strsignal: resultw=rest
strerror_r __xpg_strerror_r: 1w=$2
wcslen wcscmp wcschr wcsstr: 0r=rest 1r=rest
wcscpy wcscat wcsncpy wmemcpy wmemmove: 0u=rest 1r=rest
mbstowcs wcstombs: 0w=rest 1r=rest @locale()r=8
mbtowc: 0w=4 1r=$2|8 @locale()r=8
wctomb: 0w=8 @locale()r=8
strtol strtoul strtoll strtoull strtod strtof strtold strtoimax strtoumax: 0r=text0 1w=8
printf vprintf: outu=8 0r=text0 1+r=rest
__printf_chk __vprintf_chk: outu=8 1r=text1 2+r=rest
puts: outu=8 0r=text0
perror: erru=8 0r=text0
putchar putchar_unlocked: outu=8
dprintf vdprintf: @descriptor(0)u=8 1r=text1 2+r=rest
fprintf vfprintf: 0u=8 1r=text1 2+r=rest
__fprintf_chk __vfprintf_chk: 0u=8 2r=text2 3+r=rest
sprintf vsprintf: 0w=result+1 1r=text1 2+r=rest
__sprintf_chk __vsprintf_chk: 0w=result+1 3r=text3 4+r=rest
snprintf vsnprintf: 0w=$1|result+1 2r=text2 3+r=rest
__snprintf_chk __vsnprintf_chk: 0w=$1|result+1 4r=text4 5+r=rest
asprintf vasprintf: 0w=8 1r=text1 2+r=rest
fputs fputs_unlocked: 0r=text0 1u=8
fputc putc fputc_unlocked putc_unlocked _IO_putc ungetc: 1u=8
fwrite fwrite_unlocked: 0r=$1*$2 3u=8
fread fread_unlocked: 0w=$1*result 3u=8
__fread_chk: 0w=$2*result 4u=8
fgets fgets_unlocked: 0w=text0<1 2u=8
__fgets_chk: 0w=text0<2 3u=8
gets: 0w=text0 @standard-input()u=8
fgetc getc fgetc_unlocked getc_unlocked _IO_getc: 0u=8
getchar getchar_unlocked: @standard-input()u=8
getline: *0w=result+1 0u=8 1u=8 2u=8
getdelim __getdelim: *0w=result+1 0u=8 1u=8 3u=8
scanf vscanf: @standard-input()u=8 0r=text0 1+w=rest
fscanf vfscanf: 0u=8 1r=text1 2+w=rest
sscanf vsscanf: 0r=text0 1r=text1 2+w=rest
fflush fflush_unlocked fclose pclose rewind clearerr feof ferror ftell ftello feof_unlocked ferror_unlocked: 0u=8
fseek fseeko: 0u=8
fgetpos: 0u=8 1w=16
fsetpos: 0u=8 1r=16
setvbuf setbuf setlinebuf: 0u=8
flockfile funlockfile ftrylockfile fileno fileno_unlocked:
fopen fopen64 freopen popen: 0r=text0 1r=text1 2u=8
fdopen: 1r=text1
tmpfile tmpfile64:
remove unlink rmdir chdir mkdir chmod access opendir: 0r=text0
open open64 creat: 0r=text0 @descriptors()u=8
rename link symlink: 0r=text0 1r=text1
readdir readdir64: 0u=8 resultw=280
closedir rewinddir: 0u=8
stat lstat stat64 lstat64: 0r=text0 1w=144
fstat fstat64: 1w=144
read __read_chk: @descriptor(0)u=8 1w=result
write: @descriptor(0)u=8 1r=$2
lseek lseek64: @descriptor(0)u=8
pread pread64: 1w=result
pwrite pwrite64: 1r=$2
send: @descriptor(0)u=8 1r=$2
recv: @descriptor(0)u=8 1w=result
readv: @descriptor(0)u=8 1r=rest
writev: @descriptor(0)u=8 1r=rest
pipe pipe2: 0w=8 @descriptors()u=8
close dup dup2: @descriptors()u=8
getcwd: 0w=$1
readlink: 0r=text0 1w=result
gethostname: 0w=$1
isatty fsync fdatasync ftruncate fcntl usleep sleep alarm pause:
mmap mmap64 munmap mprotect madvise sysconf getpagesize getpid getppid gettid getuid geteuid getgid getegid:
qsort: 0u=$1*$2
qsort_r: 0u=$1*$2 4r=rest
bsearch: 0r=rest 1r=$2*$3
lfind: 0r=rest 1r=rest 2r=8
getenv secure_getenv: 0r=text0 @environment()r=8
setenv: 0r=text0 1r=text1 @environment()w=8
putenv unsetenv: 0r=text0 @environment()w=8
clearenv: @environment()w=8
rand random drand48 lrand48 mrand48: @random()u=8
srand srandom srand48: @random()w=8
rand_r: 0u=4
srand48_r: 1w=24
drand48_r lrand48_r mrand48_r: 0u=24 1w=8
erand48 nrand48 jrand48: 0u=6
random_r: 0u=48 1w=4
srandom_r: 1u=48
getrandom arc4random_buf: 0w=$1
getentropy: 0w=$1
system: 0r=text0
mkstemp mkdtemp: 0u=text0
realpath: 0r=text0 1w=rest
malloc calloc realloc reallocarray free cfree aligned_alloc memalign valloc malloc_usable_size malloc_trim:
posix_memalign: 0w=8
exit _exit _Exit quick_exit abort atexit at_quick_exit on_exit __assert_fail __stack_chk_fail __errno_location __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc:
setlocale: 1r=text1 @locale()u=8
localeconv: @locale()r=8
signal sigaction sigemptyset sigaddset sigprocmask raise kill:
time: 0w=8
gettimeofday: 0w=16
clock clock_getres difftime:
clock_gettime timespec_get: 0w=16 1w=16
nanosleep: 0r=16 1w=16
clock_nanosleep: 2r=16 3w=16
localtime gmtime: 0r=8 resultw=56
localtime_r gmtime_r: 0r=8 1w=56
ctime: 0r=8 resultw=26
asctime: 0r=56 resultw=26
ctime_r: 0r=8 1w=26
asctime_r: 0r=56 1w=26
mktime timegm timelocal: 0u=56
strftime: 0w=result+1 2r=text2 3r=56
strptime: 0r=text0 1r=text1 2u=56
tzset: @timezone()w=8
getrusage: 1w=144
times: 0w=32
uname: 0w=390
modf: 1w=8
modff: 1w=4
modfl: 1w=16
frexp frexpf frexpl: 1w=4
remquo remquof remquol: 2w=4
sincos: 1w=8 2w=8
sincosf: 1w=4 2w=4
sincosl: 1w=16 2w=16
lgamma_r lgammaf_r lgammal_r: 1w=4
nan nanf nanl: 0r=text0
setjmp _setjmp sigsetjmp __sigsetjmp: 0w=200
longjmp _longjmp siglongjmp __longjmp_chk: 0r=200
pthread_create: 0w=8
pthread_join: 1w=8
pthread_tryjoin_np pthread_timedjoin_np: 1w=8
pthread_attr_init pthread_attr_destroy pthread_attr_setdetachstate pthread_attr_setstacksize: 0w=56
pthread_attr_getdetachstate pthread_attr_getstacksize: 0r=56 1w=8
pthread_key_create: 0w=4 @key()u=8
pthread_key_delete: @key()u=8
__cxa_guard_acquire: 0u=8
__cxa_guard_release __cxa_guard_abort: 0w=8
hsearch hcreate hdestroy: @hsearch()u=8
sem_getvalue: 1w=4
__atomic_load: 1r=$0 2w=$0
__atomic_store: 1w=$0 2r=$0
__atomic_exchange: 1u=$0 2r=$0 3w=$0
__atomic_compare_exchange: 1u=$0 2u=$0 3r=$0
std::io::stdio::_print: outu=8
std::io::stdio::_eprint: erru=8
";

/// Functions that compute something from numbers. Those of mathematics stand for those of other precision as well.
pub(super) const COMPUTES: &str = "\
abs labs llabs imaxabs div ldiv lldiv fabs fmod remainder fma fmax fmin fdim exp exp2 expm1 exp10 log log2 log10 log1p pow sqrt \
cbrt hypot sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc tgamma lgamma gamma ceil floor trunc round lround \
llround rint lrint llrint nearbyint ldexp scalbn scalbln ilogb logb nextafter nexttoward copysign signbit isnan isinf finite \
j0 j1 jn y0 y1 yn significand drem pow10 \
isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper isascii toascii \
htonl htons ntohl ntohs ffs ffsl ffsll";

/// Functions that may keep memory for themselves, that the thread allocates which comes first.
pub(super) const KEEPS: &str = "\
printf vprintf __printf_chk __vprintf_chk puts putchar putchar_unlocked perror fprintf vfprintf __fprintf_chk __vfprintf_chk fputs \
fputs_unlocked fputc putc fputc_unlocked putc_unlocked _IO_putc fwrite fwrite_unlocked fread fread_unlocked __fread_chk fgets \
fgets_unlocked __fgets_chk fgetc getc fgetc_unlocked getc_unlocked _IO_getc getchar getchar_unlocked ungetc scanf vscanf fscanf \
vfscanf fflush fflush_unlocked fseek fseeko rewind ftell ftello dprintf vdprintf fclose pclose \
std::io::stdio::_print std::io::stdio::_eprint \
localtime gmtime ctime asctime mktime localtime_r tzset strftime strerror setlocale";
