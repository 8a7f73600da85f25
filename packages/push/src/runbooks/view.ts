import { batchesOf } from '../request/job-spec.js';
import type { Preview, QuorumVerdict } from '../request/preview.js';
import type { ChosenNodes } from '../request/targets.js';
import { batchesView } from '../routes/view.js';
import { type Definition, JOB_KEYS } from './definition.js';
import type { RunbookRow, VersionRow } from './reads.js';
import type { Plan, Version } from './runbooks.js';
import type { DefinitionFields } from './schemas.js';

const time = (ms: number): string => new Date(ms).toISOString();

/** A definition as it is stored, of one as it is handed in. */
export function definitionOf(fields: DefinitionFields): Definition {
  const keys: readonly string[] = JOB_KEYS;
  const isJob = ([key]: [string, unknown]) => keys.includes(key);
  const all = Object.entries(fields);
  const own = Object.fromEntries(all.filter((one) => !isJob(one)));
  return { ...own, job: Object.fromEntries(all.filter(isJob)) };
}

export function runbookBrief(row: RunbookRow) {
  const { id, name, version, description, author_name: author } = row;
  return { id, name, version, description, author, created_at: time(row.created_at), updated_at: time(row.updated_at) };
}

export function runbookView(
  { row, version, definition: { job, ...own }, author, createdAt }: Version,
  unknown: readonly string[],
) {
  const { description = '' } = own;
  const about = { version, description, author, updated_at: time(createdAt) };
  return { ...runbookBrief(row), ...about, definition: { ...own, ...job }, unknown: [...unknown] };
}

export function versionView({
  version,
  author_name: author,
  created_at,
}: Omit<VersionRow, 'definition' | 'runbook_id'>) {
  return { version, author, created_at: time(created_at) };
}

export function planView(
  { mark, request }: Plan,
  { allowed, denied, target }: ChosenNodes,
  { approval, ...preview }: Preview & { readonly quorum: QuorumVerdict; readonly approval: boolean },
) {
  const { name, version, parameters } = mark;
  const { command } = request;
  const nodes = [...allowed, ...denied].sort();
  const restricted = [...denied].sort();
  const batches = batchesView(batchesOf(request, nodes.length));
  return { name, version, command, parameters, approval, target, nodes, restricted, ...preview, ...batches };
}
