/** Every bound of the agent by name. Lengths are bytes, times milliseconds, unless the name says otherwise. */

/** Longest command text taken from a server. */
export const COMMAND_BYTES = 16 * 1024;
/** Longest pattern in an allow-list. */
export const PATTERN_LENGTH = 1024;
/** Most entries in an allow-list. */
export const ALLOW_LIST_ENTRIES = 1000;
/** Most people whose scripts a node runs, and most places where files may be put, or be fetched from. */
export const SCRIPT_SIGNERS = 100;
export const ALLOWED_PATHS = 100;
/** A server that sends nothing of a file for this long is asked again, the first time after this, then after longer. */
export const FILE_SILENCE_MS = 60_000;
export const FILE_RETRY_FIRST_MS = 500;
export const FILE_RETRY_LONGEST_MS = 15_000;
/** So often in a row without a byte, and the file is given up. */
export const FILE_RETRIES = 20;
/** So often the secrets of a job are asked for again; the command waits for them. */
export const SECRET_RETRIES = 5;
/** Most words in one command line. */
export const COMMAND_WORDS = 1000;
/** Most variables that a job sets, an owner allows, or every command is given. */
export const ENV_VARIABLES = 500;
/** Most labels a node may carry; keeps `facts` below the smallest message limit. */
export const LABELS = 100;

/** Jobs the machine remembers having run, so that none is run twice. */
export const REMEMBERED_JOBS = 256;
/** How long an acked job waits for its start when the server does not say. */
export const WAIT_MS = 120_000;

/** Raw bytes in one output message; fewer when the server takes smaller bodies. */
export const OUTPUT_CHUNK = 32 * 1024;
/** Output bytes sent and not yet acknowledged, per stream. */
export const OUTPUT_WINDOW = 8 * OUTPUT_CHUNK;
/** Unacknowledged output is sent again after this much silence. */
export const OUTPUT_RESEND_MS = 10_000;
/** After the command itself has ended, how long a daemon it left behind may hold its output open. */
export const PIPE_GRACE_MS = 1_000;

/** Forkers that end soon, one after the other, make the next wait this long at first and at most. */
export const FORKER_RETRY_FIRST_MS = 1_000;
export const FORKER_RETRY_LONGEST_MS = 60_000;
/** Largest frame of a forker: what it reads of a pipe at once, and its head. */
export const FORKER_FRAME_BYTES = 128 * 1024;

/** Between looks at the process table while a command is being killed. */
export const KILL_POLL_MS = 50;
/** How long start-up waits, beyond the grace, for what a crash left running. */
export const LEFTOVER_WAIT_MS = 15_000;

/** In which a command's share of processor time is measured: the kernel's own default, in microseconds. */
export const CPU_PERIOD_US = 100_000;
/** Least and most of what a command may be limited to. */
export const RUN_MEMORY_LEAST = 1024 * 1024;
export const RUN_MEMORY_MOST = 2 ** 50;
export const RUN_CPU_LEAST = 0.01;
export const RUN_CPU_MOST = 4096;
/** As many as there can be process ids. */
export const RUN_PIDS_MOST = 2 ** 22;

/** Most tasks that a node runs at one time, of all plugins or of one: an inventory of them fits into one message. */
export const TASK_SLOTS = 1_000;
export const PLUGIN_CONCURRENCY = 1_000;
/** Most worker processes of a module, and most tasks that one runs before it is replaced. */
export const MODULE_PROCESSES = 64;
export const MODULE_RUNS_MOST = 1_000_000_000;
/** How many tasks a worker process runs, and how much memory it may come to use, unless the plugin says otherwise. */
export const MODULE_RUNS = 1_000_000;
export const MODULE_MEMORY = 1024 * 1024 * 1024;
/** Directories in which a Perl class is looked for. */
export const PERL_DIRECTORIES = 64;
/** News of tasks wait so long for more of them, while more tasks than they are wait for a slot. */
export const NEWS_PAUSE_MS = 20;
/** News of tasks that the server has not confirmed are told again after this long. */
export const NEWS_RESEND_MS = 10_000;
/** Attempts that the agent remembers to have been settled: one that is assigned once more is passed over. */
export const SETTLED_REMEMBERED = 4_096;
/** After it was away, the server has this long to say what of an inventory it does not want any more. */
export const INVENTORY_ANSWER_MS = 5_000;
/** Of the body of a message, what is not news: names, numbers, and a reason at its longest. */
export const NEWS_MARGIN = 8_192;
/** Output of a task that goes on is sent live after this long; of one that ends sooner it comes with the result. */
export const LIVE_AFTER_MS = 200;
/** Progress of one task is told no more often than this. */
export const PROGRESS_MS = 100;
/** Bytes to an agent that wait for its socket: more output is not taken until they are fewer. */
export const HOST_BACKLOG_BYTES = 1024 * 1024;
/** Output of all tasks together that waits in the agent for its socket; hosts keep what is more. */
export const OUTPUT_BACKLOG_BYTES = 16 * 1024 * 1024;
/** Largest frame between the agent and a host process. */
export const FRAME_BYTES = 8 * 1024 * 1024;
/** Longest file that says what a host process was started with. */
export const HOST_SPEC_BYTES = 64 * 1024;
/** A host process has this long to answer at its socket after it was started. */
export const HOST_START_MS = 20_000;
/** Between looks at whether a host process that starts is there. */
export const HOST_POLL_MS = 5;
/** Empty working directories that a host keeps for the next tasks of one user. */
export const SPARE_DIRECTORIES = 64;
/** How long a user may take to remove what its task left in its working directory. */
export const REMOVE_TREE_MS = 60_000;
/** A host process that has nothing, and to which no agent is connected, ends after this long. */
export const HOST_IDLE_MS = 60_000;
/** Host processes of one plugin that end at their start, one after the other, make the next wait this long at first and at most. */
export const HOST_RETRY_FIRST_MS = 1_000;
export const HOST_RETRY_LONGEST_MS = 60_000;
/** Beyond the grace: how long a worker process may take to end a task before it is killed itself. */
export const WORKER_ANSWER_MS = 2_000;
/** What a plugin writes past its task goes to the agent's log: bytes of one piece, and pieces in a second. */
export const PLUGIN_LOG_BYTES = 2_048;
export const PLUGIN_LOG_LINES = 20;

/** Directories below which execution systems of jobs may be, and connections to such at one time. */
export const SYSTEM_ROOTS = 100;
export const SYSTEM_HELPERS = 64;
/** What is kept of what a helper says when it breaks. */
export const HELPER_LOG_BYTES = 2_048;

/** Longest text that says what is signed of a release, and longest record of an upgrade. */
export const SIGNED_BYTES = 64 * 1024;
export const RECORD_BYTES = 256 * 1024;
/** How long a new version may take to say which it is. */
export const SELF_CHECK_MS = 30_000;
/** Between looks at whether an agent that was left behind is gone. */
export const CHILD_POLL_MS = 50;
/** An upgrade that could not be written down is told again after this long. */
export const SETTLE_AGAIN_MS = 1_000;

/** Longest file that names a process. */
export const PID_FILE_BYTES = 64;
/** Longest enrolment token. */
export const ENROL_TOKEN_BYTES = 4096;
/** One HTTP request to the server (sheet §2.6). */
export const REQUEST_MS = 5_000;
/** Largest HTTP answer read. */
export const ANSWER_BYTES = 256 * 1024;
/** Between heartbeats, before a server has told how long; as the server's own default. */
export const DEFAULT_INTERVAL_MS = 15_000;
/** Longest pause between configuration requests while the servers of a cluster have no leader. */
export const NO_LEADER_RETRY_MS = 4_000;
/** First and longest pause between configuration requests that fail; the longest while there is no server is an interval. */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_LONGEST_MS = 60_000;
/** The lifetime of a configuration is shortened by up to this share, so that nodes do not ask all at once (sheet §5.5). */
export const LIFETIME_SPLAY = 0.1;
/** A command channel on which nothing was heard for this many intervals is opened anew with a fresh configuration. */
export const SILENT_INTERVALS = 3;
/** Silence of the server for this many times the offline threshold makes the agent ask for its configuration again. */
export const LOST_FACTOR = 2;

/** Control messages waiting for the socket; output is pulled, never queued. */
export const OUTBOX_MESSAGES = 64;
/** A send that the socket does not take in this time counts as a dead channel. */
export const SEND_MS = 5_000;
/** Queued, on the socket (sheet §3.1). */
export const SEND_HIGH_WATER = 3;
/** Largest message taken from the server: a prepare with its file and environment. */
export const RECEIVE_BYTES = 1024 * 1024;
/** Between attempts of ZeroMQ to connect again. */
export const RECONNECT_FIRST_MS = 250;
export const RECONNECT_LONGEST_MS = 5_000;
/**
 * First and longest pause after handshakes that failed: only a new configuration is likely to help. libzmq's own pause
 * begins anew with every TCP connection that succeeds.
 */
export const REJECTED_FIRST_MS = 5_000;
export const REJECTED_LONGEST_MS = 15_000;
/** On a clean stop, beyond the grace: how long a command may take to be gone. */
export const STOP_COMMAND_MS = 10_000;
/** On a clean stop: how long the output of a command that has ended may take to be stored. */
export const STOP_OUTPUT_MS = 5_000;
/** On a clean stop: how long the last messages may take to leave. */
export const STOP_FLUSH_MS = 1_000;

/** Facts of a program of the node's owner, and what it may write. */
export const OWN_FACTS = 128;
export const OWN_FACTS_BYTES = 32_768;
/** One log line per cause of dropped messages in this time. */
export const DROP_LOG_MS = 10_000;

/** How long the doctor waits for the command channel, and at most for a heartbeat. */
export const DOCTOR_CHANNEL_MS = 5_000;
export const DOCTOR_HEARTBEAT_MS = 60_000;
