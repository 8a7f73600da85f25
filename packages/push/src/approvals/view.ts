import type { ApprovalStatus } from './machine.js';
import { readOrder, startsJob } from './order.js';
import { type ApprovalRow, grantsIn, needsIn } from './repository.js';

const time = (ms: number): string => new Date(ms).toISOString();

export function askedView({ id, hash, expires_at }: Pick<ApprovalRow, 'expires_at' | 'hash' | 'id'>) {
  return { approval: id, hash, expires_at: time(expires_at) };
}

/** One whose time is over is shown so before it is stored. */
export function approvalView(row: ApprovalRow, now: number) {
  const over = row.status === 'pending' && now >= row.expires_at;
  return {
    id: row.id,
    status: over ? 'expired' : (row.status as ApprovalStatus),
    kind: row.kind,
    runbook: row.kind === 'runbook' ? row.name : null,
    version: row.version,
    schedule: row.kind === 'schedule' ? row.name : null,
    rule: row.kind === 'rule' ? row.name : null,
    command: row.command,
    target: row.target,
    parameters: JSON.parse(row.parameters) as Record<string, string>,
    hash: row.hash,
    asked_by: row.asker_name,
    created_at: time(row.created_at),
    expires_at: time(row.expires_at),
    decided_by: row.decided_by,
    decided_at: row.decided_at === null ? null : time(row.decided_at),
    needs: needsIn(row).map(({ by, ...need }) => ({ ...need, by: [...by] })),
    agreed: grantsIn(row).map(({ name, at }) => ({ by: name, at: time(at) })),
    reason: row.reason,
    job: startsJob(row.kind) ? row.job_id : null,
  } as const;
}

export type ApprovalView = ReturnType<typeof approvalView>;

/** What of it the one who looks at it may do. */
export interface Choices {
  readonly grant: boolean;
  readonly deny: boolean;
}

/** @param script What is in the script that it names. */
export function approvalDetail(row: ApprovalRow, now: number, script: string | null, { grant, deny }: Choices) {
  const view = approvalView(row, now);
  const order = row.order_text === '' ? null : orderView(row.order_text);
  const waits = view.status === 'pending';
  return {
    ...view,
    order: order && { ...order, ...(script !== null && { script_text: script }) },
    may_grant: waits && grant,
    may_deny: waits && deny,
  };
}

/** What the command finds in its file is shown when no secret is in it. */
function orderView(text: string): Record<string, unknown> {
  const order = readOrder(text);
  if (!('request' in order)) return { ...order.content };
  const { request } = order;
  const { script, author } = order.kind === 'runbook' ? order : WITHOUT_RUNBOOK;
  const { command, target, capture: _, options: given, ...rules } = request;
  const { file, words, secretFile, ...options } = given;
  const hidden = secretFile === undefined ? {} : { file: 'not shown: it holds a secret' };
  const shown = file === undefined ? hidden : { file: contentOf(file) };
  // All there are: who grants it sees whatever decides it.
  const named = Object.entries(rules).map(([name, value]) => [
    name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
    value,
  ]);
  return {
    command: words ?? command,
    target,
    ...Object.fromEntries(named),
    ...options,
    ...shown,
    ...(script !== null && { script_text: Buffer.from(script, 'base64').toString() }),
    ...(author !== null && { nodes_asked_as: author.name }),
  };
}

const WITHOUT_RUNBOOK = { script: null, author: null };

/** `base64:…` or `raw:…`. */
function contentOf(file: string): string {
  const [how = '', text = ''] = file.split(/:(.*)/s);
  return how === 'raw' ? text : Buffer.from(text, 'base64').toString();
}
