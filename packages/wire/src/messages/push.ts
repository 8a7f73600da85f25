/** What server and agent say about push jobs: one command on many nodes. */

/** What the agent says it is doing (Push Jobs §5.7). `waiting` has acked a job, `terminating` is killing one. */
export type AgentState = 'ready' | 'waiting' | 'running' | 'terminating';

/** A file that the server keeps for the nodes of a job, which ask for it over HTTP. */
export interface KeptFile {
  /** 64 digits of 0-9 and a-f. */
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** A program that comes with the job and is run in the place of a command. */
export interface ScriptOption extends KeptFile {
  /** What the file is called; no path. */
  readonly name: string;
  readonly args: readonly string[];
  /** Base64: who started the job vouches for it, see `scriptStatement`. */
  readonly signature?: string;
}

/** A file that is put in its place before the command starts. */
export interface UploadOption extends KeptFile {
  /** Absolute path on the node. */
  readonly dest: string;
  /** The nine permission bits. */
  readonly mode: number;
}

/** Options of a command that travel to the node (sheet §6.6). */
export interface CommandOptions {
  readonly user?: string;
  readonly dir?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** `raw:…` or `base64:…`, as posted. */
  readonly file?: string;
  /** In the place of the command. */
  readonly script?: ScriptOption;
  readonly uploads?: readonly UploadOption[];
  /**
   * The command in words, where it is a program with its arguments: a node that runs any command runs these, and no shell. What
   * a node allows by name or pattern is judged by the command's text.
   */
  readonly words?: readonly string[];
  /**
   * Secrets that the command finds as files, by name, each with the variable that names its file; '': none does. The node fetches
   * the values when it is about to run it.
   */
  readonly secrets?: Readonly<Record<string, string>>;
  /** In the place of `file`, which holds secrets: the node fetches it with these, so called, when it is about to run the command. */
  readonly secretFile?: readonly string[];
  /** In the place of the command: the file with this absolute path is what it writes. */
  readonly fetch?: string;
  /** There is no command: the job is its uploads alone. */
  readonly uploadOnly?: true;
}

export type Stream = 'stdout' | 'stderr';

/** Server to agent. */
export type PushOrder =
  /** Offer a job; the agent answers ack or nack. */
  | {
      readonly type: 'prepare';
      readonly jobId: string;
      readonly command: string;
      readonly capture: boolean;
      readonly options: CommandOptions;
      /** Execution limit on this node in seconds; absent means none. */
      readonly timeoutSeconds?: number;
      /** How long the agent stays waiting for start, in seconds. */
      readonly waitSeconds?: number;
    }
  /** Start the prepared job; answered by started, or by finished again when it already ended. */
  | { readonly type: 'start'; readonly jobId: string }
  /** Drop whatever is going on, become ready; answered by aborted. */
  | { readonly type: 'abort' }
  /** All bytes below `offset` of this stream are stored; the agent may forget them. Native only. */
  | { readonly type: 'output_stored'; readonly jobId: string; readonly stream: Stream; readonly offset: number };

export type Outcome = 'succeeded' | 'failed' | 'timed_out';

/** How a command ended on a node. */
export interface CommandResult {
  readonly jobId: string;
  readonly outcome: Outcome;
  /** Exit status, null when a signal or the agent ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
}

/** One entry of a node's allow-list: a command as it is typed, or what a pattern stands for. */
export interface AllowedCommand {
  readonly name: string;
  /** A regular expression that the whole command must match; null: the name is the command. */
  readonly pattern: string | null;
}

/** What a node's owner allows push jobs there. */
export interface NodeCommands {
  readonly list: readonly AllowedCommand[];
  /** Entries that were left out, as they were too many or too long. */
  readonly omitted: number;
  /** Whatever else is asked for runs, too. */
  readonly any: boolean;
  /** `signed`: those that certain people have signed. */
  readonly scripts: 'any' | 'signed' | 'none';
  /** Whether there is a place where files may be put, and a file that may be fetched. */
  readonly uploads: boolean;
  readonly fetches: boolean;
}

/** Null: its owner does not have it told. */
export type CommandsReport = { readonly type: 'commands'; readonly commands: NodeCommands | null };

/**
 * Why a start changed nothing: the node neither waits for this job nor has ever begun it, so that it may be offered the job again. Other
 * reasons of errors are for people.
 */
export const NOT_WAITING = 'start failed: not waiting for it';

/** Agent to server. */
export type PushReport =
  | { readonly type: 'ack'; readonly jobId: string | null }
  | {
      readonly type: 'nack';
      readonly jobId: string | null;
      readonly reason: string;
      readonly currentJobId: string | null;
    }
  | { readonly type: 'started'; readonly jobId: string | null }
  | (CommandResult & {
      readonly type: 'finished';
      /** Whole captured output; only dialects that do not stream it (`chef2`) fill these. */
      readonly output: { readonly stdout: Uint8Array; readonly stderr: Uint8Array } | null;
      /** Total bytes the command wrote, dropped ones included; null when unknown or not captured. */
      readonly bytes: { readonly stdout: number; readonly stderr: number } | null;
    })
  /** `from` is the state abort found the agent in; `terminating` means the command is not gone yet. */
  | { readonly type: 'aborted'; readonly jobId: string | null; readonly from: AgentState; readonly settled: boolean }
  | { readonly type: 'error'; readonly jobId: string | null; readonly reason: string }
  /** The agent found at start that it had crashed while running `jobId` (§5.7 Startup). */
  | { readonly type: 'crashed'; readonly jobId: string | null }
  | {
      readonly type: 'output';
      readonly jobId: string;
      readonly stream: Stream;
      /** Position of `data` in everything the command wrote; a jump over the previous end means bytes were dropped. */
      readonly offset: number;
      readonly data: Uint8Array;
    };
