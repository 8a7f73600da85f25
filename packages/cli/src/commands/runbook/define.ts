import { createHash } from 'node:crypto';
import { signScript } from '@muster/signing';
import type { Command } from 'commander';
import { durationOf } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { nameOf, textOf, yamlIn } from '../../files.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { tellItem } from '../resource.js';
import { warnOfUnknown } from '../unknown-members.js';
import type { RunbookDetail } from './api.js';

interface FileFlag {
  readonly file: string;
}

type Definition = Readonly<Record<string, unknown>>;

export function addCreate(runbook: Command, shell: Shell): void {
  const command = clientCommand(runbook, {
    usage: 'create <runbook>',
    summary: 'save a command, or a script, with its nodes, parameters and who may run it',
    examples: ['muster runbook create restart-web -f restart-web.yaml'],
  });
  withFile(command);
  does<FileFlag>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const body = { name, ...(await definition(call)) };
    tellItem(call, await call.client.post<RunbookDetail>(call.client.inOrg('runbooks'), body), told('created'));
  });
}

export function addUpdate(runbook: Command, shell: Shell): void {
  const command = clientCommand(runbook, {
    usage: 'update <runbook>',
    summary: 'give a runbook a new version; from then on nodes are asked with your rights',
    examples: ['muster runbook update restart-web -f restart-web.yaml'],
  });
  withFile(command);
  does<FileFlag>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const path = call.client.inOrg('runbooks', name);
    tellItem(call, await call.client.put<RunbookDetail>(path, await definition(call)), told('updated'));
  });
}

function withFile(command: Command): void {
  command.requiredOption('-f, --file <file>', 'what it is, in YAML or JSON; - for standard input');
}

function told(done: string) {
  return ({ out }: Call<object>, { name, version, unknown, unchanged }: RunbookDetail): void => {
    out.line(
      unchanged === true
        ? `runbook ${name} is unchanged: version ${version}`
        : `${done} runbook ${name}: version ${version}`,
    );
    warnOfUnknown(out, unknown);
  };
}

/** Durations may be written as everywhere else (`10m`); a script whose arguments are known is signed, as `push start` does. */
async function definition(call: Call<FileFlag>): Promise<Definition> {
  const { file } = call.options;
  const text = await textOf(call.world, file);
  if (/^Runbook {2}.*\nVersion {2}/.test(text)) throw isShown(file);
  const read = yamlIn(text, file);
  if (typeof read !== 'object' || read === null || Array.isArray(read)) {
    throw new MusterError('usage', { reason: `${nameOf(file)} holds no fields` });
  }
  if ('definition' in read) throw isShown(file);
  const fields = Object.fromEntries(
    Object.entries(read).map(([name, value]: [string, unknown]) => [
      name,
      isDuration(name) ? secondsOf(name, value) : value,
    ]),
  );
  const { approval } = fields;
  const terms = isWithin(approval) ? { approval: { ...approval, within: secondsOf('within', approval.within) } } : {};
  return { ...fields, ...terms, ...signatureOf(call, fields) };
}

/** A definition, with what else is known of its runbook: for people, or as JSON. */
function isShown(file: string): MusterError {
  return new MusterError('usage', {
    reason: `${nameOf(file)} holds what \`muster runbook show\` says of a runbook; its definition alone is what \`muster runbook show RUNBOOK --definition\` says`,
  });
}

const isDuration = (field: string): boolean => field.endsWith('_timeout') || field === 'batch_pause';

function secondsOf(name: string, value: unknown): unknown {
  return typeof value === 'string' ? durationOf(name, value) : value;
}

function isWithin(approval: unknown): approval is { readonly within: unknown } {
  return typeof approval === 'object' && approval !== null && 'within' in approval;
}

function signatureOf({ settings }: Call<object>, { script, args = [], signature }: Definition): Definition {
  const { credentials, org } = settings;
  const known = isTexts(args) && !args.some((word) => word.includes('{{'));
  if (typeof script !== 'string' || !known || signature !== undefined || credentials.kind !== 'key') return {};
  const sha256 = createHash('sha256').update(script).digest('hex');
  return { signature: signScript({ org, sha256, args }, credentials.privateKey) };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
