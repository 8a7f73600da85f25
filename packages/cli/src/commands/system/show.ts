import type { Command } from 'commander';
import type { Call, Shell } from '../../shell.js';
import { read, readAll } from '../envelope.js';
import { addList as addListOf, addShow as addShowOf } from '../resource.js';
import { type BatchQueue, type System, type SystemSummary, systemPath } from './api.js';

export function addList(system: Command, shell: Shell): void {
  addListOf<SystemSummary>(system, shell, {
    summary: 'systems of the organization',
    examples: ['muster system list', 'muster system list --json'],
    read: ({ client }) => readAll(client, systemPath(client)),
    columns: {
      System: ({ id }) => id,
      State: ({ available }) => stateOf(available),
      Type: ({ muster }) => muster.type,
      At: ({ muster: { host, node, queue } }) => host ?? node ?? queue,
      Default: (one) => (one.default ? 'yes' : null),
    },
    status: 'State',
    none: 'no systems yet: muster system create NAME --type local --root DIR --default',
  });
}

export function addShow(system: Command, shell: Shell): void {
  addShowOf<System>(system, shell, {
    usage: 'show <system>',
    summary: 'a system; what opens it is not shown',
    examples: ['muster system show hpc1'],
    read: ({ client }, name) => read(client, systemPath(client, name)),
    tell,
  });
}

export function tell({ out }: Call<object>, system: System): void {
  const { login, muster, storage } = system;
  const given = (title: string, value: string | number | null): [string, string][] =>
    value === null || value === '' ? [] : [[title, String(value)]];
  out.fields([
    ['System', system.id],
    ['State', stateOf(system.available)],
    ['Default', system.default ? 'yes' : 'no'],
    ['Type', muster.type],
    ['Scheduler', muster.scheduler],
    ...given('Host', login.host),
    ...given('Port', login.port),
    ...given('User', login.auth.username),
    ...(muster.type === 'ssh' ? [['Host key', keyText(muster.hostKey)] as [string, string]] : []),
    ...given('Node', muster.node),
    ...given('Queue', muster.queue),
    ['Root', storage.rootDir],
    ...given('Scratch', system.scratchDir),
    ...given('Jobs', limitText(system.maxSystemJobs)),
    ...given('Jobs of a user', limitText(system.maxSystemJobsPerUser)),
    ...Object.entries(muster.environment).map(([name, value]): [string, string] => [`Variable ${name}`, value]),
    ...system.queues.map((queue): [string, string] => [`Batch queue ${queue.name}`, limitsOf(queue)]),
    ['Owner', system.owner],
  ]);
}

export function stateOf(available: boolean): string {
  return available ? 'enabled' : 'disabled';
}

function keyText(key: string | null): string {
  return key === null ? 'none: no job can run there' : `SHA256:${key}`;
}

function limitText(limit: number | null): string | null {
  return limit === null ? null : `at most ${limit}`;
}

function limitsOf(queue: BatchQueue): string {
  const limit = (value: string | number | null, unit: string): string[] => (value === null ? [] : [`${value} ${unit}`]);
  const limits = [
    ...(queue.default ? ['default'] : []),
    ...limit(queue.maxJobs, 'jobs'),
    ...limit(queue.maxUserJobs, 'jobs of a user'),
    ...limit(queue.maxNodes, 'nodes'),
    ...limit(queue.maxProcessorsPerNode, 'processors each'),
    ...limit(queue.maxMemoryPerNode, 'memory each'),
    ...limit(queue.maxRequestedTime, 'run time'),
  ];
  return limits.length === 0 ? 'no limits' : limits.join(', ');
}
