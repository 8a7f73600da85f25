import type { Account } from './account.js';
import { ENV_VARIABLES } from './limits.js';

/** Names of variables that mark the processes of one run; see process-tree.ts. */
export const RUN_MARKER = 'MUSTER_RUN';

const RENAMED = 'CHEF_PUSH_ENV_';

/** Null when the job's variables can be set as they are. */
export function refuseEnvironment(env: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(env);
  if (names.length > ENV_VARIABLES) return `more than ${ENV_VARIABLES} environment variables`;
  const bad = names.find((name) => name === '' || name.includes('=') || name.includes('\0'));
  if (bad !== undefined) return `invalid environment variable name '${bad}'`;
  const binary = names.find((name) => env[name]?.includes('\0'));
  return binary === undefined ? null : `environment variable '${binary}' contains a zero byte`;
}

export interface EnvironmentRequest {
  /** The agent's own environment. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
  readonly job: Readonly<Record<string, string>>;
  /** When given, other variables of the job are renamed (sheet §6.6). */
  readonly overwritable: readonly string[] | undefined;
  readonly account: Account | null;
  readonly nodeName: string;
  readonly jobId: string;
  readonly filePath: string | null;
  readonly run: string;
}

/** The command's environment, sheet §6.6. The agent's own settings are not passed on. */
export function commandEnvironment(request: EnvironmentRequest): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.inherited)) {
    if (value !== undefined && !name.startsWith('MUSTER_')) env[name] = value;
  }
  if (request.account !== null) {
    env.HOME = request.account.home;
    env.USER = request.account.name;
    env.LOGNAME = request.account.name;
    env.SHELL = request.account.shell;
  }
  for (const [name, value] of Object.entries(request.job)) {
    const kept = request.overwritable === undefined || request.overwritable.includes(name);
    env[kept ? name : `${RENAMED}${name}`] = value;
  }
  for (const prefix of ['CHEF_PUSH_', 'MUSTER_']) {
    env[`${prefix}NODE_NAME`] = request.nodeName;
    env[`${prefix}JOB_ID`] = request.jobId;
    if (request.filePath === null) delete env[`${prefix}JOB_FILE`];
    else env[`${prefix}JOB_FILE`] = request.filePath;
  }
  env[RUN_MARKER] = request.run;
  return env;
}
