import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** `push start --fetch`: where the files of the nodes go. */

const JOBS = '/organizations/o/pushy/jobs';
const ID = 'a'.repeat(32);
let cwd: string;
let server: ApiServer;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'muster-fetched-'));
  const nodes = { succeeded: ['web1', 'web2'] };
  server = await apiServer({
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`POST ${JOBS}/preview`]: json({
      ...{ count: 1, nodes: ['web1'], restricted: [], refusals: [], uncertain: [], doubts: [] },
      quorum: { needed: 1, least: 1, most: 1, verdict: 'reachable', waits: false },
    }),
    [`GET ${JOBS}/${ID}`]: json({ id: ID, command: 'fetch:/var/log/app.log', status: 'complete', nodes }),
    [`GET ${JOBS}/${ID}/nodes`]: json([]),
    [`GET ${JOBS}/${ID}/output/web1/stdout`]: (_, response) => void response.end('one'),
    [`GET ${JOBS}/${ID}/output/web2/stdout`]: (_, response) => void response.end('two'),
  });
});
afterEach(async () => {
  rmSync(cwd, { recursive: true });
  await server.close();
});

async function fetching(...flags: readonly string[]) {
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd });
  const code = await run(['push', 'start', '--node', 'web1', 'web2', '--fetch', '/var/log/app.log', ...flags], world);
  const started = server.received.some(({ method, path }) => method === 'POST' && path === JOBS);
  return { code, err: world.err(), out: world.out(), started };
}

const content = (...path: readonly string[]) => readFileSync(join(cwd, ...path), 'utf8');

test.each([
  [
    ['--to', 'some/where'],
    ['some', 'where'],
  ],
  [[], [ID]],
])('files go to a directory of each node, which is made: %j', async (flags, place) => {
  expect(await fetching(...flags)).toMatchObject({ code: 0, started: true });
  expect([content(...place, 'web1', 'app.log'), content(...place, 'web2', 'app.log')]).toEqual(['one', 'two']);
  expect(readdirSync(join(cwd, ...place)).sort()).toEqual(['web1', 'web2']);
  expect(readdirSync(join(cwd, ...place, 'web1'))).toEqual(['app.log']);
});

test('a fetch that is run again takes --to', async () => {
  const earlier = 'e'.repeat(32);
  await server.close();
  server = await apiServer({
    [`GET ${JOBS}/${earlier}`]: json({
      id: earlier,
      command: 'fetch:/var/log/app.log',
      fetch: '/var/log/app.log',
      status: 'complete',
      nodes: {},
    }),
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`GET ${JOBS}/${ID}`]: json({
      id: ID,
      command: 'fetch:/var/log/app.log',
      status: 'complete',
      nodes: { succeeded: ['web1'] },
    }),
    [`GET ${JOBS}/${ID}/nodes`]: json([]),
    [`GET ${JOBS}/${ID}/output/web1/stdout`]: (_, response) => void response.end('one'),
  });
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' }, cwd });
  expect(await run(['push', 'rerun', earlier, '--failed', '--to', 'some', '--yes'], world), world.err()).toBe(0);
  expect(content('some', 'web1', 'app.log')).toBe('one');
});

test.each([
  ['a file', 'file', 'ENOTDIR: not a directory'],
  ['below a file', 'file/there', 'ENOTDIR: not a directory'],
  ['where nothing can be made', '/proc/muster', 'ENOENT: no such file or directory'],
  ['where nothing can be written', '/proc', 'ENOENT: no such file or directory'],
  ['a link to nowhere', 'link', 'ENOENT: no such file or directory'],
])('--to that is %s starts nothing, and is told in a dry run, too', async (_, to, reason) => {
  writeFileSync(join(cwd, 'file'), '');
  symlinkSync('nowhere', join(cwd, 'link'));
  const { code, err, started } = await fetching('--to', to);
  expect([code, started]).toEqual([2, false]);
  expect(await fetching('--to', to, '--dry-run')).toMatchObject({ code: 2, err });
  expect(err).toContain(`nothing was started: files cannot be written to ${join(to.startsWith('/') ? '' : cwd, to)}`);
  expect(err).toContain(`: ${reason}\nfix: Name a directory in which you may write: --to DIRECTORY.`);
});

test('a dry run makes nothing', async () => {
  expect(await fetching('--to', 'some/where', '--dry-run')).toMatchObject({ code: 0, started: false });
  expect(readdirSync(cwd)).toEqual([]);
});

test('a file that cannot be written is told, and the others are fetched', async () => {
  const taken = join(cwd, 'to', 'web1', 'app.log');
  mkdirSync(taken, { recursive: true });
  const { code, err, out } = await fetching('--to', 'to');
  expect(code).toBe(1);
  expect(err).toContain(
    `web1: its file was not kept: ${taken} cannot be written (EISDIR: illegal operation on a directory)\n`,
  );
  expect(out).toContain(`1 file: ${join(cwd, 'to', 'NODE', 'app.log')}\n`);
  expect(content('to', 'web2', 'app.log')).toBe('two');
  expect(readdirSync(join(cwd, 'to', 'web1'))).toEqual(['app.log']);
});

test('a full disk is told', async () => {
  mkdirSync(join(cwd, 'to', 'web1'), { recursive: true });
  // Whatever is written there finds no space.
  symlinkSync('/dev/full', join(cwd, 'to', 'web1', '.app.log.part'));
  const { code, err } = await fetching('--to', 'to');
  expect(code).toBe(1);
  expect(err).toContain('cannot be written (ENOSPC: no space left on device)\n');
  expect(content('to', 'web2', 'app.log')).toBe('two');
});

test('what is replaced is told', async () => {
  mkdirSync(join(cwd, 'to', 'web1'), { recursive: true });
  writeFileSync(join(cwd, 'to', 'web1', 'app.log'), 'earlier');
  const { code, out } = await fetching('--to', 'to');
  expect([code, content('to', 'web1', 'app.log')]).toEqual([0, 'one']);
  expect(out).toContain(`2 files, 1 in the place of an earlier one: ${join(cwd, 'to', 'NODE', 'app.log')}\n`);
  expect((await fetching('--to', 'other')).out).toContain(`2 files: ${join(cwd, 'other', 'NODE', 'app.log')}\n`);
});

test('files that do not come leave nothing behind', async () => {
  await server.close();
  const broken = (_: unknown, response: ServerResponse) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('one', () => response.destroy());
  };
  server = await apiServer({
    [`POST ${JOBS}`]: json({ id: ID, uri: '' }, 201),
    [`GET ${JOBS}/${ID}`]: json({ id: ID, command: 'fetch:/a', status: 'complete', nodes: { succeeded: ['web1'] } }),
    [`GET ${JOBS}/${ID}/nodes`]: json([]),
    [`GET ${JOBS}/${ID}/output/web1/stdout`]: broken,
  });
  expect((await fetching('--to', 'some/where')).code).not.toBe(0);
  expect(readdirSync(cwd)).toEqual([]);
});
