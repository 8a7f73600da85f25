import { durationText, EXIT } from '@muster/base';
import { type Command, Option } from 'commander';
import { durationOf } from '../duration.js';
import { MusterError } from '../errors.js';
import { jsonOf } from '../files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { saidText, timeText } from '../summary.js';
import { type Asked, isAsked, tellAsked } from './approval/asked.js';
import { checkSelector } from './event/check-selector.js';
import { type BlackoutFlags, blackoutsOf, notDuringText, withBlackouts } from './not-during.js';
import { addList, addRemove, addShow, type Columns, tellItem, tellTable } from './resource.js';
import { addRuns } from './runs.js';
import { type SwitchFlags, switched } from './switch.js';
import { paramsOf } from './task/values.js';

interface AtMost {
  readonly runs: number;
  readonly seconds: number;
}

interface Rule {
  readonly name: string;
  readonly on: string;
  readonly at_most: AtMost;
  readonly not_during: readonly string[];
  readonly blackout: string;
  readonly enabled: boolean;
  readonly asks: string;
  readonly approval: string | null;
  readonly kind: 'job' | 'runbook' | 'task';
  readonly runbook: {
    readonly name: string;
    readonly parameters: Readonly<Record<string, string | number>>;
    readonly node: string | null;
  } | null;
  readonly task: Readonly<Record<string, unknown>> | null;
  readonly job: Readonly<Record<string, unknown>> | null;
  readonly owner: string;
  readonly skipped: number;
  readonly created_at: string;
  readonly updated_at: string;
}

interface Run {
  readonly at: string;
  readonly event: string;
  readonly position: number;
  readonly outcome: 'asked' | 'denied' | 'expired' | 'failed' | 'skipped' | 'started' | 'waiting';
  readonly kind: string;
  readonly run: string | null;
  readonly reason: string | null;
  readonly held_until: string | null;
}

interface Tried {
  readonly events: number;
  readonly matched: number;
  readonly started: number;
  readonly skipped: number;
  readonly failed: number;
  readonly complete: boolean;
  readonly last: readonly {
    readonly position: number;
    readonly at: string;
    readonly type: string;
    readonly outcome: string;
    readonly reason: string | null;
  }[];
}

interface Flags extends BlackoutFlags, SwitchFlags {
  readonly on?: string;
  readonly run?: string;
  readonly onNode?: string;
  readonly queue?: string;
  readonly job?: string;
  readonly param?: readonly string[];
  readonly atMost?: AtMost;
  readonly ask?: string;
  readonly dryRun?: boolean;
  readonly since?: string;
}

const EXAMPLE =
  "muster rule create disk-full --on \"type = 'disk.high' AND percent > 90\" --run clean-tmp --on-node '{host}' --at-most 1/10m";

/** Events that start runbooks, tasks and jobs. */
export function addRule(program: Command, shell: Shell): void {
  const rule = subcommand(program, {
    usage: 'rule',
    summary: 'events that start runbooks, tasks and jobs',
    examples: [EXAMPLE, 'muster rule list'],
  });
  addCreate(rule, shell);
  addList<Rule>(rule, shell, {
    summary: 'rules, and how many events each left out',
    examples: ['muster rule list', 'muster rule list --json'],
    read: ({ client }) => client.get(client.inOrg('rules')),
    columns: {
      Rule: ({ name }) => name,
      State: ({ enabled }) => (enabled ? 'on' : 'off'),
      Starts: started,
      'At most': ({ at_most }) => atMostText(at_most),
      Skipped: ({ skipped }) => skipped,
      On: ({ on }) => on,
    },
    status: 'State',
    look: { fit: true },
    none: 'no rules yet: muster rule create NAME --on SELECTOR --run RUNBOOK',
  });
  addShow<Rule>(rule, shell, {
    usage: 'show <rule>',
    summary: 'one rule',
    examples: ['muster rule show disk-full'],
    read: ({ client }, name) => client.get(client.inOrg('rules', name)),
    tell,
  });
  addSet(rule, shell);
  addRuns<Run>(rule, shell, {
    one: 'rule',
    resources: 'rules',
    summary: 'what a rule has started, or could not start, newest first',
    example: 'disk-full',
    columns: RUN_COLUMNS,
  });
  addRemove(rule, shell, {
    usage: 'rm <rule>',
    summary: 'delete a rule; what it has started goes on',
    examples: ['muster rule rm disk-full', 'muster rule rm disk-full --yes'],
    question: (name = '') => `Delete rule ${printable(name)}?`,
    path: ({ client }, name = '') => client.inOrg('rules', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted rule ${name}` }),
  });
}

function addCreate(rule: Command, shell: Shell): void {
  const command = clientCommand(rule, {
    usage: 'create <rule>',
    summary:
      'have events start a runbook, a task or a job, with your rights; --dry-run tells what it would have done of late',
    examples: [
      EXAMPLE,
      "muster rule create thumbs --on \"type = 'file.new'\" --queue resize --param 'file={path}'",
      'muster rule create search --on "type = \'sequence.new\'" --job job.json',
      "muster rule create thumbs --on \"type = 'file.new'\" --queue resize --param 'file={path}' --dry-run --since 7d",
    ],
  });
  withFlags(command)
    .option('--off', 'make it, and start nothing yet')
    .option('--dry-run', 'make nothing: tell what it would have done about the events since --since')
    .option('--since <duration>', 'with --dry-run: how far back, a week at most; a day unless given');
  does<Flags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { on, off = false, dryRun = false, since } = call.options;
    if (on === undefined) throw new MusterError('usage', { reason: 'give --on SELECTOR' });
    if (since !== undefined && !dryRun) throw new MusterError('usage', { reason: '--since needs --dry-run' });
    const fields = await fieldsOf(call);
    if (dryRun) {
      const seconds = since === undefined ? {} : { seconds: Math.ceil(durationOf('--since', since)) };
      const { asks: _, ...tried } = fields;
      tellTried(call, await call.client.post<Tried>(call.client.inOrg('rules', 'dry-run'), { ...tried, ...seconds }));
      return EXIT.ok;
    }
    if (fields.runbook === undefined && fields.task === undefined && fields.job === undefined) {
      throw new MusterError('usage', { reason: 'say what is started: --run RUNBOOK, --queue QUEUE or --job FILE' });
    }
    const body = { name, ...fields, ...(off && { enabled: false }) };
    const made = await call.client.post<Rule | Asked>(call.client.inOrg('rules'), body);
    if (isAsked(made)) return tellAsked(call, made);
    const line = made.enabled
      ? `it starts ${started(made)} from now on`
      : `it is off: muster rule set ${name} --enable`;
    tellItem(call, made, ({ out }) => out.line(`created rule ${name}: ${line}`));
    return EXIT.ok;
  });
}

function addSet(rule: Command, shell: Shell): void {
  const command = clientCommand(rule, {
    usage: 'set <rule>',
    summary: 'change which events start what; from then on with your rights',
    examples: [
      'muster rule set disk-full --at-most 3/1h',
      'muster rule set disk-full --not-during freeze --blackout wait',
      'muster rule set disk-full --off',
    ],
  });
  withFlags(command)
    .option('--off', 'start nothing')
    .option('--enable', 'start something for what happens from now on');
  does<Flags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const body = { ...switched(call.options), ...(await fieldsOf(call)) };
    if (Object.keys(body).length === 0) throw new MusterError('usage', { reason: 'say what is to be changed' });
    const answer = await changed(call, name, body);
    if (isAsked(answer)) return tellAsked(call, answer);
    tellItem(call, answer, tell);
    return EXIT.ok;
  });
}

/** To switch it off takes no key. */
function changed(
  { client }: Call<Flags>,
  name: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Rule | Asked> {
  const off = body.enabled === false && Object.keys(body).length === 1;
  return off
    ? client.post<Rule>(client.inOrg('rules', name, 'off'), undefined)
    : client.patch<Rule | Asked>(client.inOrg('rules', name), body);
}

function withFlags(command: Command): Command {
  return withBlackouts(command)
    .option('--on <selector>', 'which events, such as "type = \'disk.high\' AND percent > 90"')
    .option('--run <runbook>', 'start this runbook')
    .option('--on-node <node>', "of the runbook's nodes only this one, such as {host}")
    .option('--queue <queue>', 'or add a task to this queue')
    .option('--job <file>', 'or submit this job, as for muster job submit; {NAME} in its texts as in parameters')
    .option(
      '--param <name=value>',
      'a parameter; {NAME} in it is that attribute of the event; may be repeated',
      collect,
    )
    .option('--at-most <runs/time>', 'so many runs within so long, such as 1/10m; 10/1m unless given', atMostOf)
    .addOption(
      new Option(
        '--ask <each|once>',
        'where others have to agree to runs of its runbook: to each, or once, to the rule; each unless given',
      ).choices(['each', 'once']),
    );
}

function atMostOf(text: string): AtMost {
  const [runs = '', time = ''] = text.split('/');
  if (!/^[1-9]\d*$/.test(runs) || time === '') {
    throw new MusterError('usage', { reason: `--at-most: '${text}' is not RUNS/TIME, such as 1/10m` });
  }
  return { runs: Number(runs), seconds: Math.ceil(durationOf('--at-most', time)) };
}

async function fieldsOf({ options, out, world }: Call<Flags>): Promise<Readonly<Record<string, unknown>>> {
  const { on, run, onNode, queue, job, param, atMost, ask } = options;
  if (on !== undefined) checkSelector(out, on);
  if ([run, queue, job].filter((given) => given !== undefined).length > 1)
    throw new MusterError('usage', { reason: 'give one of --run, --queue and --job' });
  if (run === undefined && onNode !== undefined) throw new MusterError('usage', { reason: '--on-node needs --run' });
  if (run === undefined && queue === undefined && param !== undefined) {
    throw new MusterError('usage', { reason: '--param needs --run or --queue' });
  }
  // Of a runbook every parameter is text here; it knows what it is to be.
  const parameters = paramsOf(param ?? [], run !== undefined);
  return {
    ...(on !== undefined && { on }),
    ...(atMost !== undefined && { at_most: atMost }),
    ...(ask !== undefined && { asks: ask }),
    ...blackoutsOf(options),
    ...(run !== undefined && { runbook: { name: run, parameters, ...(onNode !== undefined && { node: onNode }) } }),
    ...(queue !== undefined && { task: { queue, params: parameters } }),
    ...(job !== undefined && { job: await jsonOf(world, job) }),
  };
}

function started({ runbook, task, job }: Rule): string {
  if (job !== null) return `job of ${String(job.appId)}`;
  if (runbook === null) return `a task of ${String(task?.queue)}`;
  return runbook.node === null ? `runbook ${runbook.name}` : `runbook ${runbook.name} on ${runbook.node}`;
}

function atMostText({ runs, seconds }: AtMost): string {
  return `${runs}/${durationText(seconds)}`;
}

function tell({ out }: Call<object>, rule: Rule): void {
  const parameters = Object.entries(
    rule.runbook?.parameters ?? ((rule.task?.params ?? rule.job?.parameters) as object | undefined) ?? {},
  );
  out.fields([
    ['Rule', rule.name],
    ['State', rule.enabled ? 'on' : 'off'],
    ['On', rule.on],
    ['Starts', started(rule)],
    ...parameters.map(([name, value], index): [string, string] => [
      index === 0 ? 'Parameters' : '',
      `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ]),
    ['At most', atMostText(rule.at_most)],
    ...(rule.not_during.length === 0 ? [] : [['Not during', notDuringText(rule.not_during, rule.blackout)] as const]),
    ...(rule.asks === 'once' ? [['Asks', 'once, for the rule'] as const] : []),
    ...(rule.approval === null ? [] : [['Granted by', `approval ${rule.approval}`] as const]),
    ['Acts for', rule.owner],
    ...(rule.skipped === 0 ? [] : [['Skipped', `${rule.skipped} ${rule.skipped === 1 ? 'event' : 'events'}`] as const]),
    ['Created', timeText(rule.created_at)],
    ['Changed', timeText(rule.updated_at)],
  ]);
}

const RUN_COLUMNS: Columns<Run> = {
  When: ({ at }) => timeText(at),
  Event: ({ event }) => event,
  Position: ({ position }) => position,
  Outcome: ({ outcome }) => outcome,
  Run: ({ run, held_until: until }) => run ?? (until === null ? null : `at ${timeText(until)}`),
  Reason: ({ reason }) => reason && saidText(reason),
};

function tellTried(call: Call<object>, tried: Tried): void {
  const { out } = call;
  out.document(tried);
  if (out.json) return;
  const { events, matched, started: would, skipped, failed, complete, last } = tried;
  out.line(`${events} events were looked at, ${matched} of them match${complete ? '' : '; there are more'}`);
  out.line(`it would have started ${would}${skipped > 0 ? `, and left out ${skipped} as too many` : ''}`);
  if (failed > 0) out.line(`${failed} could not have been started`);
  if (last.length === 0) return;
  tellTable(call, last, {
    When: ({ at }) => timeText(at),
    Event: ({ type }) => type,
    Position: ({ position }) => position,
    Outcome: ({ outcome }) => outcome,
    Reason: ({ reason }) => reason && saidText(reason),
  });
}
