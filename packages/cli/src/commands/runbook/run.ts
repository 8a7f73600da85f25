import { EXIT } from '@muster/base';
import { type Command, Option } from 'commander';
import { MusterError } from '../../errors.js';
import { textOf, withoutLineEnd } from '../../files.js';
import { type Call, clientCommand, collect, does, type Shell } from '../../shell.js';
import { type Asked, isAsked, tellAsked } from '../approval/asked.js';
import { batchesText } from '../push/batches.js';
import { addOutputFlag } from '../push/job-flags.js';
import { checkOutput, seeThrough, tellForecast } from '../push/launch.js';
import type { OutputChoice } from '../push/live/view.js';
import type { RunbookDetail, RunbookPlan } from './api.js';
import { QUORUM_OF_RUNBOOK } from './quorum.js';
import { withVersion } from './show.js';

interface RunFlags {
  readonly param?: readonly string[];
  readonly paramFile?: readonly string[];
  readonly version?: number;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
  readonly output?: OutputChoice;
}

export function addRun(runbook: Command, shell: Shell): void {
  const command = clientCommand(runbook, {
    usage: 'run <runbook>',
    summary: 'run it as a push job; waits and shows progress unless --detach',
    examples: [
      'muster runbook run restart-web --param service=nginx',
      'muster runbook run restart-web --param service=nginx --dry-run',
      'muster runbook run deploy --param release=42 --param-file token=token.txt --detach',
    ],
  });
  command
    .option('--param <name=value>', 'a parameter; may be repeated', collect)
    .option(
      '--param-file <name=file>',
      'a parameter that is what is in this file, or - for standard input. The end of a single line is left out, unless the parameter is a file',
      collect,
    );
  withVersion(command);
  addOutputFlag(command)
    .option('--detach', 'do not wait for the end')
    .addOption(
      new Option('--dry-run', 'show what would run and on which nodes, and start nothing').conflicts('detach'),
    );
  does<RunFlags>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { version, dryRun } = call.options;
    checkOutput(call.options);
    const body = { parameters: await parametersOf(call, name), ...(version !== undefined && { version }) };
    if (dryRun === true) {
      return tellPlan(call, await call.client.post<RunbookPlan>(call.client.inOrg('runbooks', name, 'preview'), body));
    }
    const answer = await call.client.post<{ id: string } | Asked>(call.client.inOrg('runbooks', name, 'run'), body);
    return isAsked(answer) ? tellAsked(call, answer) : seeThrough(call, answer.id);
  });
}

async function parametersOf(call: Call<RunFlags>, runbook: string): Promise<Readonly<Record<string, string>>> {
  const { options, world } = call;
  const parameters: Record<string, string> = {};
  const put = (name: string, value: string): void => {
    if (Object.hasOwn(parameters, name)) throw new MusterError('usage', { reason: `${name} is given twice` });
    parameters[name] = value;
  };
  for (const [name, value] of (options.param ?? []).map((pair) => split('--param', pair))) put(name, value);
  for (const [name, path] of (options.paramFile ?? []).map((pair) => split('--param-file', pair))) {
    const text = await textOf(world, path);
    const line = withoutLineEnd(text);
    put(name, line === text || (await isFile(call, runbook, name)) ? text : line);
  }
  return parameters;
}

/** What is handed to a command as a file is what it was, to the last byte. */
async function isFile({ client, options: { version } }: Call<RunFlags>, runbook: string, name: string) {
  const { definition } = await client.get<RunbookDetail>(client.inOrg('runbooks', runbook), { version });
  const { parameters = {} } = definition as {
    readonly parameters?: Readonly<Record<string, { readonly type?: string }>>;
  };
  return Object.hasOwn(parameters, name) && parameters[name]?.type === 'file';
}

function split(flag: string, pair: string): readonly [string, string] {
  const equals = pair.indexOf('=');
  if (equals > 0) return [pair.slice(0, equals), pair.slice(equals + 1)];
  // Not what was typed: it may be a secret.
  throw new MusterError('usage', { reason: `${flag} takes NAME=${flag === '--param' ? 'VALUE' : 'FILE'}` });
}

async function tellPlan(call: Call<object>, plan: RunbookPlan): Promise<number> {
  const { client, out } = call;
  out.document(plan);
  const parameters = Object.entries(plan.parameters);
  out.fields([
    ['Runbook', `${plan.name}, version ${plan.version}`],
    ['Command', plan.command],
    ...parameters.map(([name, value], index): [string, string] => [
      index === 0 ? 'Parameters' : '',
      `${name}=${value}`,
    ]),
    ['Target', plan.target],
    ...(plan.approval ? [['Approval', 'others have to agree'] as const] : []),
  ]);
  const exit = tellForecast(call, plan);
  if (exit !== EXIT.ok) out.note(QUORUM_OF_RUNBOOK);
  if (out.json) return exit;
  const { name, version } = plan;
  const { definition } = await client.get<RunbookDetail>(client.inOrg('runbooks', name), { version });
  const batches = batchesText(definition);
  if (batches !== null) out.line(batches);
  return exit;
}
