import { access, constants, stat } from 'node:fs/promises';
import { type CommandOptions, versionAskedFor } from '@muster/wire';
import type { FilePolicy } from '../files/policy.js';
import { NO_UPGRADES, type UpgradePolicy } from '../upgrade/policy.js';
import { type Account, findAccount, mayBecome } from './account.js';
import type { CommandPolicy, Plan } from './command-policy.js';
import { decodeJobFile } from './job-file.js';
import { refuseVariables, renamedVariables, type Variables } from './job-variables.js';
import { isLocked } from './lock.js';

/** A command that passed every check of prepare (sheet §6.6). */
export interface CheckedCommand {
  readonly plan: Plan;
  /** Null: as the agent. */
  readonly account: Account | null;
  /** What the job sets, under the names it may set. */
  readonly variables: Variables;
  readonly file: Uint8Array | null;
}

export type Check = { readonly passed: CheckedCommand } | { readonly refused: string };

/** Whether this node runs the command now. Run for prepare, and again for start: the owner may have changed their mind. */
export async function checkCommand(policy: CommandPolicy, command: string, options: CommandOptions): Promise<Check> {
  const decision = policy.decide(command, options.words);
  return 'refused' in decision ? decision : checkPlan(decision.allowed, options);
}

/** What its owner allows this node. */
export interface JobPolicies {
  readonly policy: CommandPolicy;
  readonly files: Pick<FilePolicy, 'elsewhere' | 'refuse'>;
  /** Null, or absent: the agent is not replaced. */
  readonly upgrades?: UpgradePolicy | null;
}

/** The same of everything that a job may be: a command, a script, files that are put somewhere or fetched. */
export async function checkJob(
  { policy, files, upgrades = null }: JobPolicies,
  command: string,
  options: CommandOptions,
): Promise<Check> {
  const version = versionAskedFor(command);
  if (version !== null) return checkUpgrade(policy, upgrades, version, options);
  const refused = files.refuse(options);
  if (refused !== null) return { refused };
  const { variables } = policy;
  const { script, fetch, uploadOnly } = options;
  if (script !== undefined) return checkPlan({ kind: 'script', args: script.args, variables }, options);
  if (fetch !== undefined) return checkPlan({ kind: 'fetch', path: fetch, variables }, options);
  if (uploadOnly === true) return checkPlan({ kind: 'nothing', variables }, options);
  // Its directories are not this machine's.
  const { dir, ...others } = options;
  return checkCommand(policy, command, files.elsewhere === true ? others : options);
}

/** The place of its files is the agent's own, and no other option means anything to it. */
async function checkUpgrade(
  { variables }: Pick<CommandPolicy, 'variables'>,
  upgrades: UpgradePolicy | null,
  version: string,
  options: CommandOptions,
): Promise<Check> {
  const refused = upgrades === null ? NO_UPGRADES : upgrades.refuse(version, options);
  return refused === null ? checkPlan({ kind: 'upgrade', version, variables }, {}) : { refused };
}

async function checkPlan(plan: Plan, options: CommandOptions): Promise<Check> {
  let account: Account | null = null;
  if (options.user !== undefined) {
    account = await findAccount(options.user);
    if (account === null) return { refused: `user '${options.user}' does not exist` };
    if (!mayBecome(account)) return { refused: `the agent may not run commands as '${options.user}'` };
  }
  if (options.dir !== undefined) {
    const reason = await refuseDirectory(options.dir);
    if (reason !== null) return { refused: reason };
  }
  const variables = options.env ?? {};
  const refusedVariable = refuseVariables(variables, plan.variables);
  if (refusedVariable !== null) return { refused: refusedVariable };

  let file: Uint8Array | null = null;
  if (options.file !== undefined) {
    const decoded = decodeJobFile(options.file);
    if ('refused' in decoded) return decoded;
    file = decoded.bytes;
  }
  if (plan.kind === 'program' && plan.lock !== null && (await isLocked(plan.lock))) return { refused: 'locked' };
  return { passed: { plan, account, file, variables: renamedVariables(variables, plan.variables) } };
}

async function refuseDirectory(dir: string): Promise<string | null> {
  if (dir.includes('\0')) return 'the directory name contains a zero byte';
  const info = await stat(dir).catch(() => null);
  if (info === null) return `directory '${dir}' does not exist`;
  if (!info.isDirectory()) return `'${dir}' is not a directory`;
  return access(dir, constants.X_OK).then(
    () => null,
    () => `directory '${dir}' may not be entered`,
  );
}
