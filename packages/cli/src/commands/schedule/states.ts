import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { clientCommand, does, type Shell } from '../../shell.js';
import { type Asked, isAsked, tellAsked } from '../approval/asked.js';
import { addRemove as addRemoveOf, tellItem } from '../resource.js';
import type { ScheduleDetail, StartedRun } from './api.js';
import { runsNext } from './show.js';

const STATES = [
  ['pause', 'run it no more until it is resumed'],
  ['resume', 'run it again from its next time on; one that was held runs for you then'],
] as const;

export function addStates(schedule: Command, shell: Shell): void {
  for (const [action, summary] of STATES) {
    const examples = [`muster schedule ${action} nightly`];
    const command = clientCommand(schedule, { usage: `${action} <schedule>`, summary, examples });
    does<object>(command, shell, async (call) => {
      const [name = ''] = call.args;
      const path = call.client.inOrg('schedules', name, action);
      const answer = await call.client.post<ScheduleDetail | Asked>(path, undefined);
      if (isAsked(answer)) return tellAsked(call, answer);
      tellItem(call, answer, ({ out }, one) => {
        const next = runsNext(one);
        out.line(`schedule ${one.name} is ${one.state}${next === null ? '' : `: ${next}`}`);
      });
      return EXIT.ok;
    });
  }
}

export function addRun(schedule: Command, shell: Shell): void {
  const command = clientCommand(schedule, {
    usage: 'run <schedule>',
    summary: 'run it once more, now; prints the id of the task or the push job',
    examples: ['muster schedule run nightly', 'muster task wait "$(muster schedule run nightly)"'],
  });
  does<object>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const started = await call.client.post<StartedRun>(call.client.inOrg('schedules', name, 'run'), undefined);
    tellItem(call, started, ({ out }, { task, job }) => out.line(task ?? job ?? ''));
  });
}

export function addRemove(schedule: Command, shell: Shell): void {
  addRemoveOf(schedule, shell, {
    usage: 'rm <schedule>',
    summary: 'delete a schedule; what it has started goes on',
    examples: ['muster schedule rm nightly', 'muster schedule rm nightly --yes'],
    path: ({ client }, name = '') => client.inOrg('schedules', name),
    done: (name = '') => ({
      document: { name, deleted: true },
      line: `deleted schedule ${printable(name)}`,
    }),
    question: (name = '') => `Delete schedule ${printable(name)}?`,
  });
}
