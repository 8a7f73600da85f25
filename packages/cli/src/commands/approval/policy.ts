import type { Command } from 'commander';
import { duration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { printable } from '../../printable.js';
import { clientCommand, collect, does, type Shell, subcommand } from '../../shell.js';
import { count } from '../queue/settings.js';
import { addList, addRemove, tellItem } from '../resource.js';
import { warnOfUnknown } from '../unknown-members.js';

interface Policy {
  readonly name: string;
  readonly node_group: string | null;
  readonly above: number;
  readonly grants: number;
  readonly by: readonly string[];
  readonly within: number | null;
}

interface SetFlags {
  readonly nodeGroup?: string;
  readonly above?: number;
  readonly grants?: number;
  readonly by?: readonly string[];
  readonly within?: number;
}

export function addPolicy(approval: Command, shell: Shell): void {
  const policy = subcommand(approval, {
    usage: 'policy',
    summary: 'which push jobs wait for others to agree',
    examples: ['muster approval policy set prod --node-group prod', 'muster approval policy list'],
  });
  const set = clientCommand(policy, {
    usage: 'set <policy>',
    summary: 'make a policy, or put it in the place of the one of this name (admins)',
    examples: [
      'muster approval policy set many --above 50',
      'muster approval policy set prod --node-group prod --grants 2 --by group:leads --within 4h',
    ],
  });
  set
    .option('--node-group <name>', 'nodes of this group count; of all unless it is given')
    .option('--above <n>', 'push jobs on more of them wait (0: every push job)', count('--above', 0))
    .option('--grants <n>', 'how many others have to agree (default: 1)', count('--grants', 1))
    .option(
      '--by <who>',
      'alice, group:NAME or client:NAME, and nobody else; unless given who has push:write; may be repeated',
      collect,
    )
    .option('--within <duration>', 'how long a push job waits for it (default: a day)', duration('--within'));
  does<SetFlags>(set, shell, async (call) => {
    const [name = ''] = call.args;
    const { nodeGroup, ...rest } = call.options;
    if (nodeGroup === undefined && rest.above === undefined) {
      const which = '--node-group NAME, --above N, or for every push job --above 0';
      throw new MusterError('usage', { reason: `say which push jobs wait: ${which}` });
    }
    const given = { node_group: nodeGroup, above: rest.above, grants: rest.grants, by: rest.by, within: rest.within };
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const made = await call.client.put<Policy & { readonly unknown: readonly string[] }>(
      call.client.inOrg('approval-policies', name),
      body,
    );
    tellItem(call, made, ({ out }) => {
      out.line(`policy ${printable(made.name)}: ${inWords(made)}`);
      warnOfUnknown(out, made.unknown);
    });
  });
  addList<Policy>(policy, shell, {
    summary: 'policies of approval',
    examples: ['muster approval policy list'],
    read: ({ client }) => client.get(client.inOrg('approval-policies')),
    columns: {
      Policy: ({ name }) => name,
      'Push jobs on': nodesIn,
      'Others who have to agree': ({ grants }) => String(grants),
      Who: ({ by }) => whoAgrees(by),
    },
    none: 'no policies: nothing waits but runbooks that ask for it',
  });
  addRemove(policy, shell, {
    usage: 'rm <policy>',
    summary: 'delete a policy; what waits for it goes on waiting (admins)',
    examples: ['muster approval policy rm prod', 'muster approval policy rm prod --yes'],
    question: (name = '') => `Delete policy ${printable(name)}? Push jobs no longer wait for it.`,
    path: ({ client }, name = '') => client.inOrg('approval-policies', name),
    done: (name = '') => ({ document: { name, deleted: true }, line: `deleted policy ${printable(name)}` }),
  });
}

function nodesIn({ above, node_group: group }: Policy): string {
  const nodes = above === 0 ? 'any node' : `more than ${above} nodes`;
  return group === null ? nodes : `${nodes} of group ${printable(group)}`;
}

function inWords(policy: Policy): string {
  const { grants, by } = policy;
  const others = grants === 1 ? 'somebody else' : `${grants} others`;
  return `push jobs on ${nodesIn(policy)} wait for ${others} to agree (${whoAgrees(by)})`;
}

function whoAgrees(by: readonly string[]): string {
  return by.length === 0 ? 'who has push:write' : by.map(printable).join(', ');
}
