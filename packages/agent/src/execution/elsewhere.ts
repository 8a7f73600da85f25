import type { CommandOptions } from '@muster/wire';
import type { FilePolicy } from '../files/policy.js';
import type { CommandPolicy } from './command-policy.js';

/** What jobs may ask for beside a command, as people know it. None of it can be had on a machine without an agent. */
const NEEDS_AN_AGENT = {
  user: '--user, another user,',
  file: '--file, a file that comes with the command,',
  script: '--script, a script,',
  uploads: '--upload, a file that is put there,',
  uploadOnly: '--upload, a file that is put there,',
  fetch: '--fetch, a file of the node,',
  secrets: '--secret, a secret,',
  secretFile: 'a file with secrets in it',
} as const satisfies Partial<Record<keyof CommandOptions, string>>;

/** Whether there is such a directory is asked there. Relative to what it would be only its login knows. */
function refuseDirectory(dir: string | undefined): string | null {
  if (dir === undefined || (dir.startsWith('/') && !dir.includes('\0'))) return null;
  return `directory '${dir.replaceAll('\0', '?')}' is not an absolute path, which a node without an agent needs`;
}

/** The policy of files of a machine without an agent: nothing but commands. */
export const COMMANDS_ONLY: FilePolicy = {
  elsewhere: true,
  upload: () => null,
  fetch: () => null,
  refuse(options) {
    for (const [name, what] of Object.entries(NEEDS_AN_AGENT)) {
      if (options[name as keyof typeof NEEDS_AN_AGENT] === undefined) continue;
      return `${what} cannot be asked of a node without an agent, which only runs commands, as the user that logs in there`;
    }
    return refuseDirectory(options.dir);
  },
};

/** Where it is said what such a node allows. */
export function policyAtServer(name: string): string {
  return `the policy that the server has of this node (muster ssh-node set ${name} --policy FILE)`;
}

/** The same commands but those that the agent itself would do. */
export function withoutBuiltins(policy: CommandPolicy): CommandPolicy {
  return {
    ...policy,
    decide(command, words) {
      const decision = policy.decide(command, words);
      if ('refused' in decision || decision.allowed.kind !== 'builtin') return decision;
      return { refused: `'${command}' is done by agents, and this node has none` };
    },
  };
}
