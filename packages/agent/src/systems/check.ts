import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { type Account, findAccount, mayBecome } from '../execution/account.js';
import { asAccount } from '../execution/runner.js';
import type { SystemsConfig } from './config.js';

const TEST = '/usr/bin/test';
const TEST_MS = 10_000;

/** Why jobs could not run on this node as `systems` of its agent.yaml says, a sentence each; empty: they can. */
export async function systemProblems({ user, roots }: SystemsConfig): Promise<readonly string[]> {
  const account = await findAccount(user);
  if (account === null) return [`user '${user}' does not exist on this node: make it, or name another in systems.user`];
  if (!mayBecome(account)) {
    const us = userInfo().username;
    return [`${us}, who runs this, may not become '${user}': run the agent as root or as '${user}'`];
  }
  const problems: string[] = [];
  for (const root of roots) {
    const problem = await problemOf(root, account);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

async function problemOf(root: string, account: Account): Promise<string | null> {
  const found = await stat(root).catch(() => null);
  if (found === null) return `${root} is not there: make it, or take it from systems.roots`;
  if (!found.isDirectory()) return `${root} is no directory`;
  if (await mayWrite(root, account)) return null;
  return `'${account.name}' may not write to ${root}: chown or chmod it`;
}

/** Asked of the system as that user, with all of its groups: modes alone do not tell of access lists and read-only disks. */
async function mayWrite(directory: string, account: Account): Promise<boolean> {
  const env = { PATH: '/usr/bin:/bin' };
  const args = [directory, '-a', '-x', directory];
  const { file, args: words, options } = await asAccount({ account, file: TEST, args: ['-w', ...args], env, cwd: '/' });
  return new Promise((resolve) => {
    execFile(file, words, { ...options, env, cwd: '/', timeout: TEST_MS }, (error) => resolve(error === null));
  });
}
