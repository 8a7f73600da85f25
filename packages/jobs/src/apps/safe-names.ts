import { MACRO_NAMES } from '../request/macros.js';

/** Values reach the program in environment variables that have these names, so an id is one that no program or shell minds. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Variables that change what a shell, a loader, an interpreter or a tool runs or reads. Compared without regard to case. */
const MEANT_FOR_PROGRAMS: ReadonlySet<string> = new Set(
  `PATH IFS HOME SHELL USER LOGNAME PWD OLDPWD ENV CDPATH FPATH PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND SHELLOPTS GLOBIGNORE HISTFILE INPUTRC
  OPTARG OPTIND POSIXLY_CORRECT MAILPATH TMPDIR TMP TEMP TERM TERMINFO TERMCAP LANG LANGUAGE TZ TZDIR EDITOR VISUAL PAGER
  BROWSER DISPLAY LOCPATH NLSPATH GCONV_PATH HOSTALIASES LOCALDOMAIN RES_OPTIONS GETCONF_DIR RESOLV_HOST_CONF NIS_PATH
  GLIBC_TUNABLES CLASSPATH JAVA_HOME JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS PERLLIB PERLIO RUBYLIB
  RUBYOPT GEM_HOME GEM_PATH GOFLAGS GOPATH NODE_OPTIONS NODE_PATH LUA_INIT LUA_PATH LUA_CPATH TCLLIBPATH PHPRC PHP_INI_SCAN_DIR R_PROFILE R_ENVIRON
  R_LIBS R_LIBS_USER JULIA_LOAD_PATH MATLABPATH MAKEFLAGS MFLAGS MAKEFILES CC CXX CFLAGS CPPFLAGS LDFLAGS AWKPATH AWKLIBPATH LESSOPEN
  LESSCLOSE MANPAGER MODULEPATH LOADEDMODULES BASH ZDOTDIR KSH_VERSION COMP_WORDBREAKS TAR_OPTIONS GZIP XDG_CONFIG_HOME OPENSSL_CONF OPENSSL_MODULES
  SSL_CERT_FILE SSL_CERT_DIR CURL_HOME CURL_CA_BUNDLE WGETRC REQUESTS_CA_BUNDLE HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
  EUID UID GID PPID RANDOM SECONDS LINENO FUNCNAME DIRSTACK GROUPS HOSTNAME HOSTTYPE MACHTYPE OSTYPE REPLY _`.split(
    /\s+/,
  ),
);

const PREFIXES: readonly string[] = [
  ...[
    'LD_',
    'DYLD_',
    'BASH_',
    'PYTHON',
    'PERL5',
    'MALLOC_',
    'GIT_',
    'SSH_',
    'LC_',
    'NPM_CONFIG_',
    'PIP_',
    'OMPI_',
    'PMIX_',
  ],
  ...['SLURM_', 'SBATCH_', 'SRUN_', 'PBS_', 'AGAVE_', 'MUSTER_', 'SUDO_', 'DOCKER_', 'SINGULARITY', 'APPTAINER'],
];

/** Stand for something of the job in templates, here or in those of Agave (sheet §1.5). */
const OF_JOBS = ['JOB_SYSTEM', 'JOB_QUEUE', 'JOB_ARCHIVE_PATH', 'JOB_TENANT', 'JOB_STATUS', 'JOB_URL', 'JOB_ERROR'];
const TAKEN: ReadonlySet<string> = new Set([...MACRO_NAMES, ...OF_JOBS]);

/** Why this is no id of an input or parameter; null when it is one. */
export function unsafeName(id: string): string | null {
  if (!VARIABLE.test(id)) return 'must begin with a letter or _ and have only letters, digits and _, at most 64';
  const name = id.toUpperCase();
  if (TAKEN.has(name)) return `'${id}' stands for something of the job in templates: choose another name`;
  if (MEANT_FOR_PROGRAMS.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix))) {
    return `a variable '${id}' would change how programs run: choose another name`;
  }
  return null;
}
