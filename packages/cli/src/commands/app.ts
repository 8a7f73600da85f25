import type { Command } from 'commander';
import type { Client } from '../client.js';
import { jsonOf } from '../files.js';
import { printable } from '../printable.js';
import { type Call, clientCommand, does, type Shell, subcommand } from '../shell.js';
import { timeText } from '../summary.js';
import { change, post, read, readAll } from './envelope.js';
import { addList, addRemove, addShow, tellItem } from './resource.js';

/** An app of a list, in Agave's shape. */
interface AppSummary {
  readonly id: string;
  readonly revision: number;
  readonly shortDescription: string;
  readonly executionSystem: string | null;
  readonly isPublic: boolean;
  readonly lastModified: string;
}

interface Argument {
  readonly id: string;
  readonly value: { readonly required: boolean; readonly default: unknown; readonly type?: string };
  readonly details: { readonly label: string };
}

interface App extends AppSummary {
  readonly owner: string;
  readonly available: boolean;
  readonly command: readonly string[] | null;
  readonly template: string | null;
  readonly templatePath: string | null;
  readonly deploymentPath: string | null;
  readonly deploymentSystem: string | null;
  readonly defaultQueue: string | null;
  readonly defaultNodeCount: number | null;
  readonly defaultProcessorsPerNode: number | null;
  readonly defaultMemoryPerNode: number | null;
  readonly defaultMaxRunTime: string | null;
  readonly inputs: readonly Argument[];
  readonly parameters: readonly Argument[];
}

const STATES = [
  ['enable', 'let jobs of it be submitted again', ({ id, available }: App) => enabledText(id, available)],
  [
    'disable',
    'take no more jobs of it; those that were submitted go on',
    ({ id, available }: App) => enabledText(id, available),
  ],
  ['publish', 'let everybody of the organization run it', ({ id }: App) => `app ${id} is public`],
  ['unpublish', 'let only its owner and administrators run it', ({ id }: App) => `app ${id} is private`],
] as const;

/** What jobs run. */
export function addApp(program: Command, shell: Shell): void {
  const app = subcommand(program, {
    usage: 'app',
    summary: 'what jobs run: a command or wrapper with its inputs, parameters and limits',
    examples: ['muster app create --file blast.json', 'muster app list'],
  });
  addCreate(app, shell);
  addList<AppSummary>(app, shell, {
    summary: 'apps that you may run',
    examples: ['muster app list', 'muster app list --json'],
    read: ({ client }) => readAll(client, appPath(client)),
    columns: {
      App: ({ id }) => id,
      Revision: ({ revision }) => revision,
      System: ({ executionSystem }) => executionSystem ?? 'default',
      Public: ({ isPublic }) => (isPublic ? 'yes' : 'no'),
      Changed: ({ lastModified }) => timeText(lastModified),
      Description: ({ shortDescription }) => shortDescription,
    },
    look: { fit: true },
    none: 'no apps yet: muster app create --file FILE',
  });
  addShow<App>(app, shell, {
    usage: 'show <app>',
    summary: 'an app, and what it takes',
    examples: ['muster app show blast-1.0', 'muster app show blast-1.0 --json'],
    read: ({ client }, id) => read(client, appPath(client, id)),
    tell,
  });
  for (const [action, summary, said] of STATES) {
    const examples = [`muster app ${action} blast-1.0`];
    const command = clientCommand(app, { usage: `${action} <app>`, summary, examples });
    does<object>(command, shell, async (call) => {
      const [id = ''] = call.args;
      tellItem(call, await change<App>(call.client, appPath(call.client, id), action), ({ out }, one) =>
        out.line(said(one)),
      );
    });
  }
  addRemove(app, shell, {
    usage: 'rm <app>',
    summary: 'delete an app; its jobs go on',
    examples: ['muster app rm blast-1.0', 'muster app rm blast-1.0 --yes'],
    path: ({ client }, id = '') => appPath(client, id),
    done: (id = '') => ({ document: { id, deleted: true }, line: `deleted app ${printable(id)}` }),
    question: (id = '') => `Delete app ${printable(id)}?`,
  });
}

function addCreate(app: Command, shell: Shell): void {
  const command = clientCommand(app, {
    usage: 'create',
    summary: 'register an app that is described in a file, or its next revision; prints its id',
    examples: ['muster app create --file blast.json', 'muster app create --file - < blast.json'],
  });
  command.requiredOption('-f, --file <file>', 'the app, as JSON; - is standard input');
  does<{ readonly file: string }>(command, shell, async (call) => {
    const made = await post<App>(call.client, appPath(call.client), await jsonOf(call.world, call.options.file));
    tellItem(call, made, ({ out }) => out.line(made.id));
    if (made.revision > 1) call.out.note(`it is revision ${made.revision} of this version now`);
  });
}

function appPath(client: Client, ...parts: readonly string[]): string {
  return client.inOrg('apps', 'v2', ...parts);
}

function enabledText(id: string, available: boolean): string {
  return `app ${id} is ${available ? 'enabled' : 'disabled'}`;
}

function tell({ out }: Call<object>, app: App): void {
  const given = (title: string, value: string | number | null): [string, string][] =>
    value === null || value === '' ? [] : [[title, String(value)]];
  const memory = app.defaultMemoryPerNode === null ? null : `${app.defaultMemoryPerNode} GB`;
  out.fields([
    ['App', app.id],
    ['Revision', String(app.revision)],
    ['State', app.available ? 'enabled' : 'disabled'],
    ['Public', app.isPublic ? 'yes' : 'no'],
    ...given('Description', app.shortDescription),
    ['System', app.executionSystem ?? 'default'],
    ...given('Command', app.command === null ? null : JSON.stringify(app.command)),
    ...given('Template', app.template === null ? null : `${app.template.split('\n').length} lines`),
    ...given(
      'Wrapper',
      app.templatePath === null ? null : `${app.deploymentSystem}:${app.deploymentPath}/${app.templatePath}`,
    ),
    ...given('Batch queue', app.defaultQueue),
    ...given('Nodes', app.defaultNodeCount),
    ...given('Processors', app.defaultProcessorsPerNode),
    ...given('Memory', memory),
    ...given('Run time', app.defaultMaxRunTime),
    ...app.inputs.map((one): [string, string] => [`Input ${one.id}`, argumentText(one)]),
    ...app.parameters.map((one): [string, string] => [`Parameter ${one.id}`, argumentText(one)]),
    ['Owner', app.owner],
    ['Changed', timeText(app.lastModified)],
  ]);
}

function argumentText({ id, value, details: { label } }: Argument): string {
  const { required, type, default: usual } = value;
  const words = [
    ...(type === undefined ? [] : [type]),
    required ? 'required' : 'optional',
    ...(usual === null ? [] : [`default ${typeof usual === 'string' ? usual : JSON.stringify(usual)}`]),
  ];
  return `${words.join(', ')}${label === '' || label === id ? '' : `  ${label}`}`;
}
