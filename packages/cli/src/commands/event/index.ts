import type { Command } from 'commander';
import { type Shell, subcommand } from '../../shell.js';
import { addAccess } from './access.js';
import { addComplete } from './complete.js';
import { addDurable } from './durable.js';
import { addPublish } from './publish.js';
import { addScheduled } from './scheduled.js';
import { addWatch } from './watch.js';

export function addEvent(program: Command, shell: Shell): void {
  const event = subcommand(program, {
    usage: 'event',
    summary: 'follow and publish events; who may do so, future events, durable subscriptions',
    examples: [
      'muster event watch "type LIKE \'push.%\'"',
      'muster event publish temp.high --attr host=db1 --attr celsius=81',
      'muster event scheduled list',
    ],
  });
  addWatch(event, shell);
  addPublish(event, shell);
  addComplete(event, shell);
  addScheduled(event, shell);
  addDurable(event, shell);
  addAccess(event, shell);
}
