import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { CountLine } from '../../count-line.js';
import { MusterError } from '../../errors.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { agreed } from '../resource.js';
import type { ActionsAnswer, BulkAnswer } from './api.js';
import { tasksPath, tasksText, tellRefused } from './many.js';

interface ActionOptions {
  readonly where?: string;
  readonly queue?: string;
  readonly code?: number;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
}

interface Action {
  /** As the API calls it. */
  readonly action: string;
  readonly usage: string;
  readonly summary: string;
  /** `Cancel 5 tasks?`, `cancelled 5 tasks`. */
  readonly verb: string;
  readonly done: string;
  /** Also few are asked about: it cannot be undone. */
  readonly final?: true;
}

const ACTIONS: readonly Action[] = [
  { action: 'retry', usage: 'retry', summary: 'run tasks again that have ended', verb: 'Retry', done: 'queued again' },
  {
    action: 'cancel',
    usage: 'cancel',
    summary: 'end tasks: at once where they wait, by its node where one has them',
    verb: 'Cancel',
    done: 'cancelled',
  },
  { action: 'hold', usage: 'hold', summary: 'hold tasks back that wait', verb: 'Hold', done: 'held' },
  { action: 'release', usage: 'release', summary: 'let tasks go on that are held', verb: 'Release', done: 'released' },
  {
    action: 'remove',
    usage: 'rm',
    summary: 'delete tasks that no node has, with their output',
    verb: 'Delete',
    done: 'deleted',
    final: true,
  },
];

/** Ids of one request. */
const IDS_AT_ONCE = 10_000;

export function addActions(task: Command, shell: Shell): void {
  for (const action of ACTIONS) addAction(task, shell, action);
}

function addAction(task: Command, shell: Shell, action: Action): void {
  const { usage, summary } = action;
  const command = clientCommand(task, {
    usage: `${usage} [tasks...]`,
    summary,
    examples: [
      `muster task ${usage} TASK`,
      `muster task ${usage} --where 'queue:resize AND status:${usage === 'release' ? 'held' : 'failed'}' --dry-run`,
      `muster task ${usage} --queue resize --where 'params.width > 100' --yes`,
    ],
  });
  command
    .option('--where <selector>', 'those that it finds, in the place of ids; says how many, and asks')
    .option('--queue <queue>', 'only of this queue; its own writers may touch no others')
    .option('--dry-run', 'say how many it would be, and do nothing')
    .option('--detach', 'with --where: have the server do it, and do not wait (`muster task bulk`)')
    .option('-y, --yes', 'do not ask');
  if (action.action === 'hold')
    command.option('--code <n>', 'status code below -6 that holds them (default: -7)', Number);
  does<ActionOptions>(command, shell, async (call) => {
    const { options, args } = call;
    if (args.length > 0 === (options.where !== undefined)) {
      throw new MusterError('usage', { reason: 'give ids of tasks, or --where SELECTOR' });
    }
    if (options.detach === true && (args.length > 0 || options.dryRun === true)) {
      throw new MusterError('usage', { reason: '--detach goes with --where, and not with --dry-run' });
    }
    return args.length > 0 ? onIds(call, action, [...new Set(args)]) : onFound(call, action, options.where ?? '');
  });
}

async function onIds(call: Call<ActionOptions>, action: Action, ids: readonly string[]): Promise<number> {
  const { dryRun } = call.options;
  if (dryRun !== true && action.final === true) await agreed(call, `${action.verb} ${tasksText(ids.length)}?`);
  const done = new Done();
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    done.add(await ask(call, action, { ids: ids.slice(from, from + IDS_AT_ONCE), dry_run: dryRun === true }));
  }
  return tell(call, action, done);
}

async function onFound(call: Call<ActionOptions>, action: Action, where: string): Promise<number> {
  const { dryRun, yes, detach } = call.options;
  const through = (about: { readonly until?: string | null; readonly counted?: number }) => {
    if (detach === true) return begin(call, action, { where, ...about });
    return throughAll(call, action, { where, until: about.until }).then((done) => tell(call, action, done));
  };
  if (dryRun !== true && yes === true) return through({});
  const found = await throughAll(call, action, { where, dry_run: true });
  if (dryRun === true || found.matched === 0) return tell(call, action, found);
  await agreed(call, `${action.verb} ${tasksText(found.willing)}?`);
  // What was asked about, and nothing that came since.
  return through({ until: found.last, counted: found.matched });
}

/** The server does it, whether anybody waits or not. */
async function begin(call: Call<ActionOptions>, action: Action, about: object): Promise<number> {
  const { queue } = call.options;
  const run = await post<BulkAnswer>(call, action, 'bulk', about);
  call.out.document(run);
  const of = queue === undefined ? '' : ` --queue ${queue}`;
  call.out.line(`${run.id}: the server does it. How far it is: \`muster task bulk show ${run.id}${of}\``);
  return EXIT.ok;
}

/** One request after the other, as the server takes so many at a time. */
async function throughAll(call: Call<ActionOptions>, action: Action, about: object): Promise<Done> {
  const done = new Done();
  const progress = new CountLine(call.world, 'tasks');
  try {
    for (let after: string | undefined; ; ) {
      const answer = await ask(call, action, { ...about, ...(after !== undefined && { after }) });
      done.add(answer);
      if (answer.next === null) return done;
      after = answer.next;
      progress.update(done.matched);
    }
  } finally {
    progress.done();
  }
}

function ask(call: Call<ActionOptions>, action: Action, about: object): Promise<ActionsAnswer> {
  return post(call, action, 'actions', about);
}

function post<Answer>(call: Call<ActionOptions>, { action }: Action, what: string, about: object): Promise<Answer> {
  const { queue, code } = call.options;
  const body = { action, ...about, ...(code !== undefined && { code }) };
  return call.client.post<Answer>(tasksPath(call, queue, what), body);
}

/** What several requests did together. */
class Done {
  matched = 0;
  acted = 0;
  /** Id of the last that a selector found. */
  last: string | null = null;
  readonly refused = new Map<string, { readonly reason: string; tasks: number; readonly first: string }>();

  /** Those that do not stay as they are. */
  get willing(): number {
    return [...this.refused.values()].reduce((left, { tasks }) => left - tasks, this.matched);
  }

  add({ matched, acted, refused, last }: ActionsAnswer): void {
    this.matched += matched;
    this.acted += acted;
    this.last = last ?? this.last;
    for (const one of refused) {
      const known = this.refused.get(one.reason);
      if (known === undefined) this.refused.set(one.reason, { ...one });
      else known.tasks += one.tasks;
    }
  }
}

function tell(call: Call<ActionOptions>, { verb, done: past }: Action, done: Done): number {
  const { matched, acted } = done;
  const refused = [...done.refused.values()];
  const { dryRun } = call.options;
  call.out.document(dryRun === true ? { matched, refused, dry_run: true } : { matched, acted, refused });
  if (dryRun === true) call.out.line(`${verb.toLowerCase()}: it would be ${tasksText(done.willing)}`);
  else if (matched === 0) call.out.line('no task is like that');
  else call.out.line(`${past} ${tasksText(acted)}`);
  tellRefused(call, refused);
  return refused.length > 0 && dryRun !== true ? EXIT.failed : EXIT.ok;
}
