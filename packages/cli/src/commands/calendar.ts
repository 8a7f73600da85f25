import type { Command } from 'commander';
import { durationOf } from '../duration.js';
import { MusterError } from '../errors.js';
import { yamlOf } from '../files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, collect, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { addList, addRemove, addShow, tellItem } from './resource.js';

interface Entry {
  readonly weekly?: string;
  readonly dates?: string;
  readonly cron?: string;
  readonly minutes?: number;
  readonly why?: string;
}

interface Calendar {
  readonly name: string;
  readonly description: string;
  readonly timezone: string;
  readonly entries: readonly Entry[];
  /** `goes_on`: also after `until`. */
  readonly now: { readonly until: string; readonly goes_on: boolean; readonly why: string } | null;
  readonly created_at: string;
  readonly updated_at: string;
}

interface Flags {
  readonly description?: string;
  readonly tz?: string;
  readonly weekly?: readonly string[];
  readonly dates?: readonly string[];
  readonly cron?: readonly string[];
  readonly why?: string;
  readonly file?: string;
}

/** When schedules and rules start nothing. */
export function addCalendar(program: Command, shell: Shell): void {
  const calendar = subcommand(program, {
    usage: 'calendar',
    summary: 'when schedules and rules that heed it start nothing',
    examples: [
      "muster calendar create weekend --tz Europe/Berlin --weekly 'fri 18:00-mon 06:00'",
      'muster calendar list',
    ],
  });
  addCreate(calendar, shell);
  addList<Calendar>(calendar, shell, {
    summary: 'calendars, and which of them let nothing start now',
    examples: ['muster calendar list', 'muster calendar list --json'],
    read: ({ client }) => client.get(client.inOrg('calendars')),
    columns: {
      Calendar: ({ name }) => name,
      Now: ({ now }) => nowBrief(now),
      Zone: ({ timezone }) => timezone,
      When: ({ entries }) => entries.map(entryText).join('; '),
      Description: ({ description }) => description,
    },
    look: { fit: true },
    none: "no calendars yet: muster calendar create NAME --weekly 'fri 18:00-mon 06:00'",
  });
  addShow<Calendar>(calendar, shell, {
    usage: 'show <calendar>',
    summary: 'one calendar, and whether it lets nothing start now',
    examples: ['muster calendar show weekend'],
    read: ({ client }, name) => client.get(client.inOrg('calendars', name)),
    tell,
  });
  addSet(calendar, shell);
  addRemove(calendar, shell, {
    usage: 'rm <calendar>',
    summary: 'delete a calendar that no schedule and no rule heeds',
    examples: ['muster calendar rm weekend', 'muster calendar rm weekend --yes'],
    question: (name = '') => `Delete calendar ${printable(name)}?`,
    path: ({ client }, name = '') => client.inOrg('calendars', name),
    done: (name) => ({ document: { name, deleted: true }, line: `deleted calendar ${name}` }),
  });
}

function addCreate(calendar: Command, shell: Shell): void {
  const command = clientCommand(calendar, {
    usage: 'create <calendar>',
    summary: 'say when nothing is to be started that heeds it (--not-during of schedules and rules)',
    examples: [
      "muster calendar create weekend --tz Europe/Berlin --weekly 'fri 18:00-mon 06:00'",
      "muster calendar create freeze --dates 2026-12-23..2027-01-03 --why 'end of the year' --cron '0 2 1 * * for 4h'",
      'muster calendar create freeze -f freeze.yaml',
    ],
  });
  withFlags(command);
  does<Flags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const fields = await fieldsOf(call);
    if (fields.entries === undefined) {
      throw new MusterError('usage', { reason: 'say when: --weekly, --dates, --cron, or --file' });
    }
    const made = await call.client.post<Calendar>(call.client.inOrg('calendars'), { name, ...fields });
    tellItem(call, made, ({ out }) =>
      out.line(`created calendar ${name}: ${made.now === null ? 'open now' : nowText(made.now)}`),
    );
  });
}

function addSet(calendar: Command, shell: Shell): void {
  const command = clientCommand(calendar, {
    usage: 'set <calendar>',
    summary: 'change when nothing is to be started; what is given takes the place of all entries',
    examples: ["muster calendar set weekend --weekly 'sat-sun'", 'muster calendar set freeze -f freeze.yaml'],
  });
  withFlags(command);
  does<Flags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const fields = await fieldsOf(call);
    if (Object.keys(fields).length === 0) throw new MusterError('usage', { reason: 'say what is to be changed' });
    tellItem(call, await call.client.patch<Calendar>(call.client.inOrg('calendars', name), fields), tell);
  });
}

function withFlags(command: Command): Command {
  return command
    .option(
      '--weekly <window>',
      "every week: 'fri 18:00-mon 06:00', 'mon-fri 22:00-06:00', 'daily 02:00-04:00', sun; may be repeated",
      collect,
    )
    .option(
      '--dates <range>',
      'once: 2026-12-24, 2026-12-24..2027-01-02, 2026-12-24T18:00..2026-12-25T06:00; may be repeated',
      collect,
    )
    .option('--cron <fields for duration>', "as often as cron says: '0 2 1 * * for 4h'; may be repeated", collect)
    .option('--why <text>', 'for whoever asks why nothing is started')
    .option('--tz <zone>', 'whose clocks that means: Europe/Berlin (default: UTC)')
    .option('--description <text>', 'what it is for')
    .option('-f, --file <file>', 'description, timezone and entries, in YAML or JSON; - for standard input');
}

async function fieldsOf(call: Call<Flags>): Promise<Readonly<Record<string, unknown>>> {
  const { file, weekly = [], dates = [], cron = [], why, tz, description } = call.options;
  const because = why !== undefined && { why };
  const entries = [
    ...weekly.map((one) => ({ weekly: one, ...because })),
    ...dates.map((one) => ({ dates: one, ...because })),
    ...cron.map((one) => ({ ...cronOf(one), ...because })),
  ];
  if (file !== undefined && entries.length > 0) {
    throw new MusterError('usage', { reason: 'entries are those of --file, or those of --weekly, --dates and --cron' });
  }
  if (why !== undefined && entries.length === 0) {
    throw new MusterError('usage', { reason: '--why is said of --weekly, --dates or --cron' });
  }
  return {
    ...(file !== undefined && (await fileFields(call, file))),
    ...(tz !== undefined && { timezone: tz }),
    ...(description !== undefined && { description }),
    ...(entries.length > 0 && { entries }),
  };
}

function cronOf(text: string): Entry {
  const { fields = '', length = '' } = /^(?<fields>.+?) +for +(?<length>\S+)$/.exec(text.trim())?.groups ?? {};
  if (fields === '') throw new MusterError('usage', { reason: `--cron: '${text}' is not like '0 2 1 * * for 4h'` });
  return { cron: fields, minutes: Math.ceil(durationOf('--cron', length) / 60) };
}

async function fileFields(call: Call<Flags>, file: string): Promise<object> {
  const read = await yamlOf(call.world, file);
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  throw new MusterError('usage', { reason: `${file} holds no fields` });
}

function entryText({ weekly, dates, cron, minutes = 0 }: Entry): string {
  return weekly ?? dates ?? `${cron} for ${minutes} min`;
}

function nowBrief(now: Calendar['now']): string {
  if (now === null) return 'open';
  return now.goes_on ? 'nothing, without end' : `nothing until ${timeText(now.until)}`;
}

function nowText({ until, goes_on: goesOn, why }: NonNullable<Calendar['now']>): string {
  return goesOn
    ? `nothing starts, and no end is in sight (${why})`
    : `nothing starts until ${timeText(until)} (${why})`;
}

function tell({ out }: Call<object>, calendar: Calendar): void {
  const { entries, description } = calendar;
  out.fields([
    ['Calendar', calendar.name],
    ...(description === '' ? [] : [['Description', description] as const]),
    ['Time zone', calendar.timezone],
    ...entries.map((entry, index): [string, string] => [
      index === 0 ? 'When' : '',
      entry.why === undefined ? entryText(entry) : `${entryText(entry)}  ${entry.why}`,
    ]),
    ['Now', calendar.now === null ? 'open' : nowText(calendar.now)],
    ['Created', timeText(calendar.created_at)],
    ['Changed', timeText(calendar.updated_at)],
  ]);
}
