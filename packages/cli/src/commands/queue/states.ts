import type { Command } from 'commander';
import { clientCommand, does, type Shell } from '../../shell.js';
import { tellItem } from '../resource.js';
import type { QueueInfo } from './api.js';

const STATES = [
  ['pause', 'assign no more of its tasks; those that nodes have go on', 'paused'],
  ['resume', 'assign its tasks again, and take new ones', 'resumed'],
  ['drain', 'take no more tasks, and work off those it has', 'drained: it takes no more tasks'],
] as const;

export function addStates(queue: Command, shell: Shell): void {
  for (const [action, summary, done] of STATES) {
    const examples = [`muster queue ${action} resize`];
    const command = clientCommand(queue, { usage: `${action} <queue>`, summary, examples });
    does<object>(command, shell, async (call) => {
      const [name = ''] = call.args;
      const path = call.client.inOrg('queues', name, action);
      tellItem(call, await call.client.post<QueueInfo>(path, undefined), ({ out }, one) =>
        out.line(`queue ${one.name} is ${done}`),
      );
    });
  }
}
