import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { agreed, tellDone } from '../resource.js';
import type { QueueInfo } from './api.js';

interface RemoveOptions {
  readonly force?: boolean;
  readonly yes?: boolean;
}

export function addRemove(queue: Command, shell: Shell): void {
  const command = clientCommand(queue, {
    usage: 'rm <queue>',
    summary: 'delete a queue with all its tasks and their output',
    examples: ['muster queue rm resize', 'muster queue rm resize --force --yes'],
  });
  command.option('--force', 'also while nodes have tasks of it: these are cancelled').option('-y, --yes', 'do not ask');
  does<RemoveOptions>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { force, yes } = call.options;
    const path = call.client.inOrg('queues', name);
    if (yes !== true) {
      const { counts } = await call.client.get<QueueInfo>(path);
      const tasks = Object.values(counts).reduce((sum, count) => sum + count, 0);
      const what = `${tasks.toLocaleString('en')} ${tasks === 1 ? 'task' : 'tasks'}`;
      await agreed(call, `Delete queue ${printable(name)} and its ${what}, with their output?`);
    }
    await call.client.delete(path, force === true ? { force } : {});
    tellDone(call, { document: { name, deleted: true }, line: `deleted queue ${printable(name)}` });
  });
}
