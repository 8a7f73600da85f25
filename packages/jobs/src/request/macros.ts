import type { Job } from '../types.js';
import { slug } from './slug.js';

/** Of what a macro may speak: a job as far as it is known. */
export type MacroSource = Pick<
  Job,
  | 'appId'
  | 'archiveSystem'
  | 'created'
  | 'memoryMb'
  | 'name'
  | 'nodeCount'
  | 'owner'
  | 'processorsPerNode'
  | 'remoteQueue'
  | 'systemId'
  | 'tenant'
  | 'uuid'
>;

/** What is not set is the empty text (sheet §1.5). */
const MACROS: Readonly<Record<string, (job: MacroSource) => string>> = {
  APP_ID: ({ appId }) => appId,
  EXECUTION_SYSTEM: ({ systemId }) => systemId,
  BATCH_QUEUE: ({ remoteQueue }) => remoteQueue ?? '',
  JOB_NAME: ({ name }) => slug(name),
  JOB_ID: ({ uuid }) => uuid,
  JOB_NODE_COUNT: ({ nodeCount }) => String(nodeCount),
  JOB_PROCESSORS_PER_NODE: ({ processorsPerNode }) => String(processorsPerNode),
  JOB_MEMORY_PER_NODE: ({ memoryMb }) => String(memoryMb / 1024),
  JOB_CREATED_TIME: ({ created }) => (created === null ? '' : new Date(created).toISOString()),
  JOB_OWNER: ({ owner }) => owner,
  ARCHIVE_SYSTEM: ({ archiveSystem }) => archiveSystem ?? '',
  TENANT_ID: ({ tenant }) => tenant,
};

export const MACRO_NAMES: readonly string[] = Object.keys(MACROS);

const MACRO = /\$\{([A-Za-z0-9_]+)\}/g;

export function macroValue(name: string, job: MacroSource): string | undefined {
  return Object.hasOwn(MACROS, name) ? MACROS[name]?.(job) : undefined;
}

/** Names in a text that are no macros. */
export function unknownMacros(text: string): readonly string[] {
  return [...text.matchAll(MACRO)].flatMap(([, name = '']) => (Object.hasOwn(MACROS, name) ? [] : [name]));
}

/** Puts the values in the place of the macros of a path. What is no macro stays. */
export function resolveMacros(text: string, job: MacroSource): string {
  return text.replace(MACRO, (whole, name: string) => macroValue(name, job) ?? whole);
}

/** Where a job archives to that does not say (sheet §1.5). */
export function defaultArchivePath({ name, owner, uuid }: Pick<Job, 'name' | 'owner' | 'uuid'>): string {
  return `${owner}/archive/jobs/${jobFolder({ name, uuid })}`;
}

/** Name of the folder of a job, wherever it works. */
export function jobFolder({ name, uuid }: Pick<Job, 'name' | 'uuid'>): string {
  const short = slug(name);
  return short === '' ? `job-${uuid}` : `job-${uuid}-${short}`;
}
