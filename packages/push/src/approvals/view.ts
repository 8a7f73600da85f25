import type { ApprovalStatus } from './machine.js';
import { readOrder } from './order.js';
import type { ApprovalRow } from './repository.js';

const time = (ms: number): string => new Date(ms).toISOString();

export function askedView({ id, hash, expires_at }: ApprovalRow) {
  return { approval: id, hash, expires_at: time(expires_at) };
}

/** One whose time is over is shown so before it is stored. */
export function approvalView(row: ApprovalRow, now: number) {
  const over = row.status === 'pending' && now >= row.expires_at;
  return {
    id: row.id,
    status: over ? 'expired' : (row.status as ApprovalStatus),
    runbook: row.runbook,
    version: row.version,
    command: row.command,
    target: row.target,
    parameters: JSON.parse(row.parameters) as Record<string, string>,
    hash: row.hash,
    asked_by: row.asker_name,
    created_at: time(row.created_at),
    expires_at: time(row.expires_at),
    decided_by: row.decided_by,
    decided_at: row.decided_at === null ? null : time(row.decided_at),
    reason: row.reason,
    job: row.job_id,
  } as const;
}

export function approvalDetail(row: ApprovalRow, now: number) {
  return { ...approvalView(row, now), order: row.order_text === '' ? null : orderView(row.order_text) };
}

/** What the command finds in its file is shown when no secret is in it. */
function orderView(text: string): Record<string, unknown> {
  const { request, script, runbook, author } = readOrder(text);
  const { command, target, capture: _, options: given, ...rules } = request;
  const { file, words, ...options } = given;
  const shown = file === undefined ? {} : { file: runbook.secret ? 'not shown: it holds a secret' : contentOf(file) };
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
    nodes_asked_as: author.name,
  };
}

function contentOf(file: string): string {
  return Buffer.from(file.slice('base64:'.length), 'base64').toString();
}
