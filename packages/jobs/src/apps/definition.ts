import { memoryMb, runSeconds } from '../definition/quantities.js';
import { checkText, invalid, Reader } from '../definition/reader.js';
import { readInput, readParameter } from './arguments.js';
import { APP_LIMITS } from './limits.js';
import type { App, Program } from './types.js';

/** What somebody says of an app; the rest is given when it is stored. */
export type AppDefinition = Omit<App, 'uuid' | 'orgId' | 'owner' | 'revision' | 'created' | 'lastUpdated'>;

const NAME = { most: 63, pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]*$/, form: 'letters, digits, and _ . - after the first' };
// Without a hyphen, so that it is clear where in NAME-VERSION it begins.
const VERSION = {
  most: 16,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_.+]*$/,
  form: 'letters, digits, and _ . + after the first',
};
export const SYSTEM_NAME = {
  most: 64,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
  form: 'the name of a system: letters, digits, and _ . - after the first',
};
const QUEUE_NAME = { most: 128, pattern: /^[A-Za-z0-9][A-Za-z0-9_.-]*$/, form: 'the name of a batch queue' };
const LINE = { least: 0, most: APP_LIMITS.text };
const LINES = { least: 0, most: APP_LIMITS.value, lines: true };
const WORD = { most: APP_LIMITS.text };

/** What Agave shows of an app, or takes, and what means nothing here: an app that was shown can be sent back. */
const WITHOUT_MEANING = [
  ...['id', 'uuid', 'revision', 'created', 'lastModified', 'lastUpdated', 'owner', '_links', 'icon', 'datePublished'],
  ...['publiclyAvailable', 'outputs', 'testPath', 'rating', 'ratingCount', 'author', 'publicOnly', 'privateOnly'],
] as const;

/** An app in Agave's form, checked whole. @throws MusterError `invalid_field` with the field's path. */
export function readApp(body: unknown): AppDefinition {
  const reader = new Reader(body, 'app');
  const name = reader.text('name', NAME);
  const version = reader.text('version', VERSION);
  const deploymentPath = reader.optionalText('deploymentPath', PATH);
  const deploymentSystem = reader.optionalText('deploymentSystem', SYSTEM_NAME);
  if (deploymentPath === null && deploymentSystem !== null) {
    throw invalid(reader.path('deploymentPath'), 'it is missing: deploymentSystem says where it is');
  }
  const memory = reader.value('defaultMemoryPerNode');
  const runTime = reader.value('defaultMaxRunTime');
  const app: AppDefinition = {
    id: `${name}-${version}`,
    name,
    version,
    label: reader.optionalText('label', LINE) ?? name,
    shortDescription: reader.optionalText('shortDescription', LINES) ?? '',
    longDescription: reader.optionalText('longDescription', LINES) ?? '',
    helpUri: reader.optionalText('helpURI', LINE),
    tags: reader.texts('tags', APP_LIMITS.words, WORD),
    ontology: reader.texts('ontology', APP_LIMITS.words, WORD),
    modules: reader.texts('modules', APP_LIMITS.words, MODULE),
    executionSystem: reader.optionalText('executionSystem', SYSTEM_NAME),
    executionType: reader.oneOf('executionType', ['HPC', 'CONDOR', 'CLI'], 'HPC'),
    parallelism: reader.oneOf('parallelism', ['SERIAL', 'PARALLEL', 'PTHREAD'], 'SERIAL'),
    checkpointable: reader.boolean('checkpointable', false),
    program: readProgram(reader, deploymentPath !== null),
    deployment: deploymentPath === null ? null : { system: deploymentSystem, path: deploymentPath },
    defaults: {
      queue: reader.optionalText('defaultQueue', QUEUE_NAME),
      nodeCount: reader.integer('defaultNodeCount', 1, 100_000),
      processorsPerNode: reader.integer('defaultProcessorsPerNode', 1, 100_000),
      memoryMb: memory === undefined ? null : memoryMb(reader.path('defaultMemoryPerNode'), memory),
      maxSeconds: runTime === undefined ? null : runSeconds(reader.path('defaultMaxRunTime'), runTime),
    },
    inputs: reader.list('inputs', APP_LIMITS.arguments, readInput),
    parameters: reader.list('parameters', APP_LIMITS.arguments, readParameter),
    isPublic: reader.boolean('isPublic', true),
    enabled: reader.boolean('enabled', reader.boolean('available', true)),
  };
  reader.ignore(...WITHOUT_MEANING);
  reader.end();
  checkDistinct(app);
  return app;
}

/** Relative to a system's root, and never above it. */
const PATH = {
  most: 4096,
  pattern: /^(?!.*(?:^|\/)\.\.(?:\/|$)).*$/,
  form: 'a path without ..',
};
const MODULE = {
  most: 255,
  pattern: /^[\w.+/-]+(?: [\w.+/-]+)*$/,
  form: 'the name of a module, such as gcc/12.2 or load gcc',
};

/** One of `command`, `template` and `templatePath` says what is run. */
function readProgram(reader: Reader, deployed: boolean): Program {
  const command = reader.value('command');
  const text = reader.optionalText('template', { most: APP_LIMITS.template, lines: true });
  const templatePath = reader.optionalText('templatePath', PATH);
  const given = [command, text ?? undefined, templatePath ?? undefined].filter((one) => one !== undefined);
  if (given.length !== 1) {
    const what = given.length === 0 ? 'it is missing' : 'only one can be given';
    throw invalid(reader.path('command'), `${what}: an app has a command, a template or a templatePath`);
  }
  if (command !== undefined) return { kind: 'command', argv: readCommand(command, reader.path('command')) };
  if (text !== null) return { kind: 'template', text };
  if (!deployed) throw invalid(reader.path('deploymentPath'), 'it is missing: templatePath is below it');
  return { kind: 'deployed', templatePath: templatePath ?? '' };
}

function readCommand(command: unknown, path: string): readonly [string, ...string[]] {
  if (!Array.isArray(command)) throw invalid(path, 'must be a list: the program and its arguments');
  if (command.length > APP_LIMITS.commandArguments) {
    throw invalid(path, `must have at most ${APP_LIMITS.commandArguments} entries`);
  }
  const [program, ...rest] = command.map((each, index) => checkText(`${path}.${index}`, each, { ...LINES, least: 0 }));
  if (program === undefined || program === '') throw invalid(`${path}.0`, 'it is missing: the program');
  if (program.includes('${')) throw invalid(`${path}.0`, 'the program must be named here, not by a value of a job');
  return [program, ...rest];
}

/** Their values reach the program by their ids: also those that differ only in case would be taken for each other. */
function checkDistinct({ inputs, parameters }: AppDefinition): void {
  const seen = new Set<string>();
  const all = [
    ...inputs.map(({ id }, at) => [`inputs.${at}`, id]),
    ...parameters.map(({ id }, at) => [`parameters.${at}`, id]),
  ];
  for (const [path = '', id = ''] of all) {
    if (seen.has(id.toLowerCase())) throw invalid(`app.${path}.id`, `there is another '${id}'`);
    seen.add(id.toLowerCase());
  }
}
