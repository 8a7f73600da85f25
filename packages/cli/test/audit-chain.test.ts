import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  chainHash,
  firstServerKey,
  generateKeyPair,
  linkKeys,
  NO_HASH,
  type Seal,
  type ServerKeyLink,
  signSeal,
} from '@muster/signing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { trailBody } from '../../platform/src/notifications/trail.js';
import { syslogLine } from '../src/commands/audit/export.js';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** `muster audit export` and `verify`. */

const keys = await generateKeyPair();
const other = await generateKeyPair();

const AT = '2012-09-16T12:00:00.000Z';
const entry = (id: number, outcome = 'done') =>
  JSON.stringify({
    id,
    at: AT,
    actor: 'alice',
    actor_kind: 'user',
    address: null,
    action: 'push.start',
    target: `J${id}`,
    outcome,
    detail: {},
  });

function sealedAs(orgId: string, number: number, entries: string[], before: string) {
  const hash = chainHash(before, entries);
  const seal = { number, entries: entries.length, at: AT, hash };
  return { seal: signSeal(createPrivateKey(keys.privateKey), orgId, seal), entries };
}

const sealed: { seal: Seal; entries: string[] }[] = [];
for (const entries of [[entry(1), entry(2, 'denied')], [entry(3)]]) {
  sealed.push(sealedAs('o1', sealed.length + 1, entries, sealed.at(-1)?.seal.hash ?? NO_HASH));
}
const ofServer = sealedAs('', 1, [entry(1)], NO_HASH);
const [first, second] = sealed;
const head = second?.seal.hash ?? '';

let server: ApiServer;
let dir: string;
/** The last seal that the server knows of. */
let known: number;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'muster-audit-'));
  known = sealed.length;
  const page = (seals: unknown[], organization_id = 'o1') => ({
    ...{ organization_id, public_key: keys.publicKey, server_keys: [], known_seal: known, seals },
  });
  server = await apiServer({
    'GET /organizations/o/audit/seals': (request, response) =>
      json(page(sealed.slice(Number(request.query.get('after'))).slice(0, 1)))(request, response),
    'GET /audit/seals': (request, response) =>
      json({ ...page(request.query.get('after') === '0' ? [ofServer] : [], ''), known_seal: 1 })(request, response),
  });
});
afterEach(async () => {
  await server.close();
  rmSync(dir, { recursive: true });
});

async function muster(...words: string[]) {
  const world = testWorld({
    cwd: dir,
    env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T', NO_COLOR: '1' },
  });
  const code = await run(['audit', ...words], world);
  return { code, out: world.out(), err: world.err() };
}

const file = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return name;
};

test('verify reads the audit of the server, and says its head', async () => {
  const { code, out } = await muster('verify');
  expect([code, out.split('\n')[0]]).toEqual([0, '3 entries in 2 seals are as they were sealed.']);
  expect(out).toContain(head);
  expect(JSON.parse((await muster('verify', '--json')).out)).toMatchObject({ entries: 3, seals: 2, head });
});

test('verify fails where entries are sealed as forged, until so many are known', async () => {
  const exported = (await muster('export')).out;
  const entries = [entry(4, 'forged')];
  const hash = chainHash(head, entries);
  const last = { number: 3, entries: 1, at: AT, hash };
  const seal = signSeal(createPrivateKey(keys.privateKey), 'o1', last);
  const path = file('forged.jsonl', `${exported}${entries[0]}\n${JSON.stringify({ seal })}\n`);
  const { code, out, err } = await muster('verify', path);
  expect([code, out.split('\n')[0]]).toEqual([1, '4 entries in 3 seals are as they were sealed.']);
  expect(err).toContain('forged entries in the audit: 1, written, or changed before they were sealed');
  expect(err).toContain('`muster audit --after 3 --limit 1`');
  const told = await muster('verify', path, '--json');
  expect([told.code, JSON.parse(told.out)]).toEqual([
    1,
    expect.objectContaining({ entries: 4, forged: 1, broken: null }),
  ]);
  expect((await muster('verify', path, '--known-forged', '1')).code).toBe(0);
});

test('verify --json says of a broken chain where it breaks, and what is before that', async () => {
  const { out } = await muster('export');
  const path = file('broken.jsonl', out.replace('"target":"J3"', '"target":"J9"'));
  const broken = await muster('verify', path, '--json');
  expect([broken.code, JSON.parse(broken.out)]).toEqual([
    1,
    expect.objectContaining({
      ...{ entries: 2, forged: 0, seals: 1, head: first?.seal.hash },
      broken: { seal: 2, reason: expect.stringContaining('its entries are not those that were sealed') },
    }),
  ]);
  const cut = await muster('verify', file('cut.jsonl', out.slice(0, -20)), '--json');
  expect([cut.code, JSON.parse(cut.out)]).toMatchObject([1, { broken: { seal: null } }]);
});

test('verify misses a seal that the server has made, and that is not there any more', async () => {
  known = 3;
  const { code, out, err } = await muster('verify');
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('the server knows of seal 3, and there is none after 2: the end was deleted');
});

test('verify knows a head of an earlier time, and misses one that was cut off', async () => {
  expect((await muster('verify', '--head', first?.seal.hash ?? '')).code).toBe(0);
  // Mistyped it is no sign that anybody has changed anything.
  expect((await muster('verify', '--head', 'f'.repeat(63))).code).toBe(2);
  const cut = await muster('verify', '--head', 'f'.repeat(64));
  expect([cut.code, cut.err]).toEqual([1, expect.stringContaining('from seal 3 on: no seal has the hash fff')]);
});

test('an export can be verified without the server, by a key that is known', async () => {
  const exported = file('audit.jsonl', (await muster('export')).out);
  expect((await muster('verify', exported, '--public-key', file('right.pem', keys.publicKey))).code).toBe(0);
  const strange = await muster('verify', exported, '--public-key', file('other.pem', other.publicKey));
  expect([strange.code, strange.err]).toEqual([1, expect.stringContaining('its signature is not by this key')]);
});

test('what a webhook brought can be verified as the guide says, also after the key was replaced', async () => {
  const [before, after] = [keys, other].map((pair) => firstServerKey(pair).present);
  if (before === undefined || after === undefined || first === undefined || second === undefined)
    throw new Error('none');
  const link = linkKeys(before, after, { announcedAt: 0, takesOverAt: 1, revoked: false });
  const { signature: _, ...unsigned } = second.seal;
  const resealed = { seal: signSeal(createPrivateKey(other.privateKey), 'o1', unsigned), entries: second.entries };
  const org = { id: 'o1', name: 'o' };
  const bodies = [
    trailBody({ org }, first, { publicKey: keys.publicKey, keyLinks: [] }),
    trailBody({ org }, resealed, { publicKey: other.publicKey, keyLinks: [link] }),
  ];
  interface Told {
    readonly public_key: string;
    readonly server_keys: readonly ServerKeyLink[];
    readonly seal: Seal;
    readonly entries: readonly object[];
  }
  const got = bodies.map((body) => JSON.parse(body).data as Told);
  const guide = readFileSync(new URL('../../../docs/guide/notifications.md', import.meta.url), 'utf8');
  const fields = [...(/`\{"muster_audit":1(.*?)\}`/.exec(guide)?.[1] ?? '').matchAll(/"(\w+)":/g)].map(
    ([, name]) => name,
  );
  const newest = Object.entries(got.at(-1) ?? {}).filter(([name]) => fields.includes(name));
  const lines = got.flatMap(({ seal, entries }) => [...entries, { seal }]);
  const text = (heading: object) => [heading, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
  const heading = { muster_audit: 1, ...Object.fromEntries(newest) };
  const told = file('told.jsonl', text(heading));
  for (const more of [[], ['--public-key', file('now.pem', other.publicKey)]]) {
    const { code, out, err } = await muster('verify', told, ...more);
    expect([code, out.split('\n')[0], err]).toEqual([
      0,
      '3 entries in 2 seals are as they were sealed.',
      expect.anything(),
    ]);
  }
  const unlinked = await muster('verify', file('unlinked.jsonl', text({ ...heading, server_keys: [] })));
  expect([unlinked.code, unlinked.err]).toEqual([1, expect.stringContaining('its signature is not by this key')]);
});

test('an export that was changed, or is none, is refused with its place', async () => {
  const { out } = await muster('export');
  const changed = await muster('verify', file('changed.jsonl', out.replace('"target":"J2"', '"target":"J9"')));
  expect([changed.code, changed.err]).toEqual([1, expect.stringContaining('from seal 1 on: its entries are not')]);
  const none = await muster('verify', file('none.jsonl', 'hello\n'));
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('none.jsonl, line 1: it is no JSON object')]);
});

test('an export that was cut is told as that, and what to do', async () => {
  const { out } = await muster('export');
  const lines = out.trimEnd().split('\n');
  const afterFirst = (await muster('export', '--after-seal', '1')).out;
  const cuts: readonly [text: string, said: string][] = [
    [out.slice(0, out.lastIndexOf('{"seal"')), 'it ends with an entry after seal 1, without a seal.'],
    [out.slice(0, -20), 'its last line breaks off, after seal 1.'],
    [afterFirst, 'it begins with seal 2, which follows from those before.'],
  ];
  for (const [text, said] of cuts) {
    const { code, err } = await muster('verify', file('cut.jsonl', text));
    expect([code, err]).toEqual([1, expect.stringContaining(`cut.jsonl is no whole export of the audit: ${said}`)]);
    expect(err).toContain('fix: Export it again, all of it: `muster audit export` without --after-seal');
  }
  const headless = await muster('verify', file('headless.jsonl', lines.slice(1).join('\n')));
  expect([headless.code, headless.err]).toEqual([
    2,
    expect.stringContaining('line 1: it is not the heading with which'),
  ]);
  // After a seal it looks whole.
  const sealed = await muster('verify', file('sealed.jsonl', out.slice(0, out.indexOf('\n', out.indexOf('{"seal"')))));
  expect([sealed.code, sealed.err]).toEqual([0, expect.stringContaining('a file cannot tell')]);
});

test('for syslog each entry is a line of RFC 5424', async () => {
  const { out } = await muster('export', '--format', 'syslog', '--after-seal', '1');
  expect(out).toBe(`<110>1 ${AT} 127.0.0.1 muster - push.start - ${entry(3)}\n`);
  expect((await muster('export', '--format', 'syslog')).out).toContain(
    `<108>1 ${AT} 127.0.0.1 muster - push.start - ${entry(2, 'denied')}\n`,
  );
  for (const outcome of ['failed', 'forged']) {
    expect(syslogLine(entry(4, outcome), 'h')).toMatch(/^<108>1 /);
  }
});

test('options of `audit` before `verify` and `export` are not forgotten: these have the same, or they are refused', async () => {
  for (const words of [
    ['--actor', 'carol', 'export'],
    ['--limit', '100', 'verify'],
  ]) {
    const { code, out, err } = await muster(...words);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`\`muster audit ${words.at(-1)}\` takes no ${words[0]}`);
  }
  expect((await muster('--json', 'verify')).out).toContain(head);
  expect((await muster('--of-server', 'export')).out).toContain('"organization_id":""');
});

test('what concerns the whole server is verified and exported with --of-server', async () => {
  const exported = file('server.jsonl', (await muster('export', '--of-server')).out);
  const line = '1 entry in 1 seal is as it was sealed.';
  for (const words of [['--of-server'], [exported]]) {
    const { code, out } = await muster('verify', ...words);
    expect([code, out.split('\n')[0]]).toEqual([0, line]);
  }
  const both = await muster('verify', exported, '--of-server');
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('a file says itself whose audit it is')]);
});
