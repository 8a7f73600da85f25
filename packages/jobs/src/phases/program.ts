import { commandLine } from '@muster/platform/ssh';
import type { App } from '../apps/types.js';
import { MACRO_NAMES, macroValue } from '../request/macros.js';
import { slug } from '../request/slug.js';
import type { Job } from '../types.js';
import { filledTemplate, valueVariables } from './template.js';
import { type ArgumentValue, textOf, wordsOf } from './values.js';

const NAMES = /\$\{([A-Za-z_]\w*)\}/g;

/** What the wrapper runs: a script. @param text The template, of a deployed app as it was read; null: it is a command. */
export function programText(
  app: Pick<App, 'modules' | 'program'>,
  text: string | null,
  job: Job,
  values: readonly ArgumentValue[],
): string {
  const modules = app.modules.map((module) => `${commandLine(moduleCommand(module))}\n`).join('');
  if (app.program.kind === 'command') {
    return `#!/bin/sh\n${modules}exec ${commandLine(words(app.program.argv, job, values))}\n`;
  }
  const filled = filledTemplate(text ?? '', values);
  const [first, rest] = filled.startsWith('#!') ? lines(filled) : ['#!/bin/sh\n', filled];
  return `${first}${modules}${rest}`;
}

const MODULE_COMMANDS: ReadonlySet<string> = new Set(['load', 'add', 'unload', 'rm', 'swap', 'purge', 'use']);

/** `gcc/12.2`, or as Agave's apps have it: `load gcc/12.2`. */
function moduleCommand(module: string): readonly string[] {
  const words = module.trim().split(/\s+/);
  return MODULE_COMMANDS.has(words[0] ?? '') ? ['module', ...words] : ['module', 'load', ...words];
}

/** A word that is `${ID}` and no more becomes the words of its values, or goes when there are none. */
export function words(argv: readonly string[], job: Job, values: readonly ArgumentValue[]): readonly string[] {
  const byId = new Map(values.map((value) => [value.id, value]));
  return argv.flatMap((word) => {
    const whole = byId.get(/^\$\{([A-Za-z_]\w*)\}$/.exec(word)?.[1] ?? '');
    if (whole !== undefined) return wordsOf(whole);
    return [
      word.replace(NAMES, (name, id: string) => {
        const value = byId.get(id);
        return value === undefined ? (macroValue(id, job) ?? name) : textOf(value);
      }),
    ];
  });
}

/** Variables of the program: values by their ids, macros by their names, and Agave's names of these (sheet §1.5). */
export function programVariables(job: Job, values: readonly ArgumentValue[]): Readonly<Record<string, string>> {
  const macros = MACRO_NAMES.map((name): [string, string] => [name, macroValue(name, job) ?? '']);
  return { ...Object.fromEntries(macros), ...agaveVariables(job), ...valueVariables(values) };
}

function agaveVariables(job: Job): Readonly<Record<string, string>> {
  const of = {
    ID: job.uuid,
    NAME: slug(job.name),
    APP_ID: job.appId,
    OWNER: job.owner,
    TENANT: job.tenant,
    EXECUTION_SYSTEM: job.systemId,
    BATCH_QUEUE: job.remoteQueue ?? '',
    NODE_COUNT: String(job.nodeCount),
    PROCESSORS_PER_NODE: String(job.processorsPerNode),
    MEMORY_PER_NODE: String(job.memoryMb / 1024),
    MAX_RUNTIME: hours(job.maxSeconds),
    SUBMIT_TIME: new Date(job.accepted).toISOString(),
    ARCHIVE: job.archive ? '1' : '',
    ARCHIVE_SYSTEM: job.archiveSystem ?? '',
    ARCHIVE_PATH: job.archivePath ?? '',
  };
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [`AGAVE_JOB_${name}`, value]));
}

/** HH:mm:ss. */
function hours(seconds: number): string {
  const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');
  return `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function lines(text: string): readonly [first: string, rest: string] {
  const end = text.indexOf('\n');
  return end === -1 ? [`${text}\n`, ''] : [text.slice(0, end + 1), text.slice(end + 1)];
}
