import { append, insert, update, upsert } from '@muster/store';

export const organization = upsert('organizations', { id: 'text', name: 'text', created_at: 'integer' }, ['id']);
/** Renames what was made then, and nothing else. */
export const renamed = update('organizations', { created_at: 'integer', id: 'text', name: 'text' }, [
  'id',
  'created_at',
]);
/** The first that its commit says of it. */
export const begun = update('organizations', { id: 'text', name: 'text' }, ['id'], { first: true });
export const output = upsert(
  'output_chunks',
  { subject: 'text', part: 'text', stream: 'text', position: 'integer', data: 'bytes' },
  ['subject', 'part', 'stream', 'position'],
);
export const group = insert('groups', { org_id: 'text', name: 'text', created_at: 'integer' }, ['org_id', 'name']);
export const audit = insert('audit', {
  org_id: 'text',
  at: 'integer',
  actor: 'text',
  actor_kind: 'text',
  action: 'text',
  target: 'text',
  outcome: 'text',
  detail: 'text',
});
export const user = insert('principals', {
  id: 'text',
  org_id: 'text',
  type: 'text',
  name: 'text',
  server_admin: 'integer',
  created_at: 'integer',
});

export const named = (id: string, name: string) => organization({ id, name, created_at: 1 });
export const done = (target: string) =>
  audit({ org_id: null, at: 1, actor: 'a', actor_kind: 'user', action: 'x', target, outcome: 'done', detail: '{}' });
/** A row of several pages: a full disk cannot take it. */
export const large = (position: number) =>
  output({ subject: 'j', part: 'n', stream: 'stdout', position, data: new Uint8Array(16_384).fill(position) });
export const principal = (id: string, orgId: string | null, name: string) =>
  user({ id, org_id: orgId, type: 'user', name, server_admin: 0, created_at: 1 });

const numberedOrganization = append(
  'organizations',
  { id: 'text', name: 'text', created_at: 'integer' },
  {
    rows: (parts) => parts.map((part, index) => ({ ...part, created_at: index })),
    bytes: () => 100,
    numbers: () => 1,
    numbered: ['created_at'],
  },
);
/** `created_at` is its number. `told`: of its number. */
export const numbered = (id: string, told?: (number: number) => void) => numberedOrganization({ id, name: id }, told);
