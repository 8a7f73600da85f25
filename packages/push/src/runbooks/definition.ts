/** What a saved command is: as it is handed in, stored and shown. */

export const PARAMETER_TYPES = [
  /** One line of text. */
  'string',
  'number',
  /** One of its `choices`. */
  'choice',
  /** Text that is nowhere shown, and becomes part of the file only. */
  'secret',
  /** Text of many lines; it becomes part of the file only. */
  'file',
] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

export interface Parameter {
  readonly type: ParameterType;
  readonly description?: string;
  /** True unless it is said otherwise, or there is a default. */
  readonly required?: boolean;
  readonly default?: string | number;
  readonly choices?: readonly string[];
  readonly min?: number;
  readonly max?: number;
  /** Of numbers: no fractions. */
  readonly whole?: boolean;
  readonly min_length?: number;
  readonly max_length?: number;
  /** Of strings: those that may occur, and ranges of them, such as `a-z0-9._-`. */
  readonly characters?: string;
  /** Of strings: may begin with `-`, so that a program takes it for an option. */
  readonly leading_dash?: boolean;
}

export type Parameters = Readonly<Record<string, Parameter>>;

/** Who has to agree to a run, and for how long it waits. */
export interface Terms {
  readonly by?: readonly string[];
  /** Seconds. */
  readonly within?: number;
  /** How many others; one unless it is said. */
  readonly grants?: number;
}

export interface Definition {
  readonly description?: string;
  /** A text as it stands; or a program and its arguments, in which parameters stand as `{{name}}`. */
  readonly command?: string | readonly string[];
  /** In the place of a command: what is in the script. */
  readonly script?: string;
  /** Of the script; parameters stand in them as `{{name}}`. */
  readonly args?: readonly string[];
  /** Of the script and its arguments, for nodes that insist on it. */
  readonly signature?: string;
  /** The file that is handed to the command; parameters stand in it as `{{name}}`. */
  readonly file?: string;
  readonly parameters?: Parameters;
  /** Who may run it: `alice`, `group:NAME`, `client:NAME`. */
  readonly runners?: readonly string[];
  /** A second person has to agree to each run. */
  readonly approval?: Terms;
  /** In the place of a quorum: whoever is up and accepts runs it. */
  readonly available?: boolean;
  /** Of the body of POST jobs: on which nodes, how many, how long, as whom. */
  readonly job: Readonly<Record<string, unknown>>;
}

/** What of the body of POST jobs a saved command says itself. */
export const JOB_KEYS = [
  'search',
  'nodes',
  'node_group',
  'quorum',
  'run_timeout',
  'node_timeout',
  'voting_timeout',
  'ack_timeout',
  'when_busy',
  'wait_timeout',
  'batches',
  'batch_pause',
  'batch_confirm',
  'on_failures',
  'concurrency',
  'start_rate',
  'max_failures',
  'user',
  'dir',
  'env',
  'secrets',
] as const;
