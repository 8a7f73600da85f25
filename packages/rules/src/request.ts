import type { Organization } from '@muster/platform/auth';
import { checkEventSelector } from '@muster/platform/events';
import { type Calendars, placeOf, readHeeded, readNewTask, type Tasks } from '@muster/tasks';
import { MusterError } from './errors.js';
import { RULE_LIMITS, USUAL_AT_MOST } from './limits.js';
import type { RuleFields } from './schemas.js';
import { hasLooseBrace } from './template.js';
import type { Asked, Work } from './types.js';

type Fields = Readonly<Record<string, unknown>>;

export interface Reading {
  readonly tasks: Pick<Tasks, 'controller'>;
  readonly calendars: Pick<Calendars, 'at' | 'existing'>;
  /** Most bytes of parameters of a task. */
  readonly maxParams: number;
}

/** A new rule. @throws MusterError `invalid_field`, `invalid_params`, `not_found` */
export function readNewRule(fields: RuleFields & { readonly on: string }, org: Organization, reading: Reading): Asked {
  const { work, ...given } = readRuleFields(fields, org, reading);
  if (work === undefined) throw invalid('runbook', 'it is missing: give runbook, task or job');
  const usual = { atMost: USUAL_AT_MOST, notDuring: [], blackout: 'skip', enabled: true, asks: 'each' } as const;
  return { ...usual, selector: fields.on, ...given, work };
}

/** @throws MusterError as `readNewRule` */
export function readRuleFields(fields: RuleFields, org: Organization, reading: Reading): Partial<Asked> {
  const { on, at_most: atMost, enabled, not_during: names, blackout, asks } = fields;
  if (on !== undefined) checkEventSelector('on', on);
  const work = readWork(fields, org, reading);
  return {
    ...(on !== undefined && { selector: on }),
    ...(atMost !== undefined && { atMost }),
    ...(names !== undefined && { notDuring: readHeeded(reading.calendars, org.id, names) }),
    ...(blackout !== undefined && { blackout }),
    ...(enabled !== undefined && { enabled }),
    ...(asks !== undefined && { asks }),
    ...(work !== undefined && { work }),
  };
}

function readWork(fields: RuleFields, org: Organization, reading: Reading): Work | undefined {
  const given = (['runbook', 'task', 'job'] as const).filter((kind) => fields[kind] !== undefined);
  if (given.length > 1) throw invalid(given[1] ?? '', `give one of runbook, task and job, not ${given.join(' and ')}`);
  const { runbook, task, job } = fields;
  const work =
    (runbook && readRunbook(runbook)) ??
    (task && readTask(task as Fields, org, reading)) ??
    (job && readJob(job as Fields));
  if (work === undefined) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(work));
  const most = RULE_LIMITS.work;
  if (bytes > most) throw invalid(work.kind, `has ${bytes} bytes as JSON; at most ${most}`);
  return work;
}

function readRunbook({ name, parameters = {}, node = null }: NonNullable<RuleFields['runbook']>): Work {
  if (node !== null && hasLooseBrace(node)) {
    throw invalid(
      'runbook.node',
      `'${node.slice(0, 80)}' has a brace that is of no attribute: write {NAME}, as {host}`,
    );
  }
  return { kind: 'runbook', runbook: name, parameters, node };
}

function readTask(fields: Fields, org: Organization, { tasks, maxParams }: Reading): Work {
  const { queue, ...task } = fields;
  if (typeof queue !== 'string') throw invalid('task.queue', 'it is missing');
  const found = tasks.controller.queue(org.id, queue);
  if (found === undefined) throw new MusterError('not_found', { kind: 'queue', name: queue.slice(0, 80) });
  const { options } = readNewTask(task, maxParams);
  return { kind: 'task', queueId: found.id, task, ...(options?.secrets && { place: placeOf(found) }) };
}

/** The rest is checked with the attributes of the event in it. */
function readJob(request: Fields): Work {
  if (typeof request.appId !== 'string' || request.appId === '')
    throw invalid('job.appId', 'it is missing: name an app');
  return { kind: 'job', request };
}

function invalid(field: string, reason: string): MusterError {
  return new MusterError('invalid_field', { field, reason });
}
