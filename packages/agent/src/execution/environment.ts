import type { Account } from './account.js';

/** Marks the processes of one run; see process-tree.ts. */
export const RUN_MARKER = 'MUSTER_RUN';

/** The directory in which each secret of a command is a file of its name. */
export const SECRETS = 'MUSTER_SECRETS';

/** When the agent itself was started without one, as by hand in an empty environment. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Of the agent's own environment; nothing else of it reaches a command. */
const TAKEN = ['PATH', 'TZ', 'LANG', 'LANGUAGE'];
const LOCALE = /^LC_[A-Z]+$/;

type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvironmentRequest {
  /** The agent's own environment; null: the machine gives its own, as commands run on another one. */
  readonly agent: Environment | null;
  /** Whom the command runs as. */
  readonly account: Account | null;
  /** What the node's owner gives every command. */
  readonly configured: Readonly<Record<string, string>>;
  /** What came with the command, under the names it may set. */
  readonly job: Readonly<Record<string, string>>;
  readonly own: OwnVariables;
  readonly filePath: string | null;
  /** Where its secrets are files; null: it has none. */
  readonly secretDir?: string | null;
  readonly run: string;
}

/** What a command is told of what it runs for. Nothing else sets these variables. */
export interface OwnVariables {
  readonly values: Readonly<Record<string, string>>;
  /** Those that name the file that came with the command; unset when none did. */
  readonly file: readonly string[];
}

/** The command's environment (sheet §6.6), built from nothing: what the agent holds, secrets among it, is not passed on. */
export function commandEnvironment(request: EnvironmentRequest): Record<string, string> {
  const { account, own, filePath, secretDir = null } = request;
  const env: Record<string, string> = request.agent === null ? {} : { PATH: DEFAULT_PATH };
  for (const [name, value] of Object.entries(request.agent ?? {})) {
    if (value !== undefined && (TAKEN.includes(name) || LOCALE.test(name))) env[name] = value;
  }
  if (account !== null) {
    env.HOME = account.home;
    env.USER = account.name;
    env.LOGNAME = account.name;
    env.SHELL = account.shell;
  }
  Object.assign(env, request.configured, request.job, own.values);
  for (const name of own.file) {
    if (filePath === null) delete env[name];
    else env[name] = filePath;
  }
  if (secretDir === null) delete env[SECRETS];
  else env[SECRETS] = secretDir;
  env[RUN_MARKER] = request.run;
  return env;
}
