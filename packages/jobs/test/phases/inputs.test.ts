import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { below, distinct } from '../../src/phases/paths.js';
import { sourceOf } from '../../src/phases/sources.js';
import { processInputs, stageInputs } from '../../src/phases/staging-inputs.js';
import { HttpWeb } from '../../src/phases/web.js';
import { Blocked, Failed, type Job } from '../../src/types.js';
import { PlayedContext } from '../support/phase-context.js';
import { newApp } from '../support/worker-fixture.js';

const put = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
};

describe('where an input comes from', () => {
  test.each([
    ['agave://hpc1/a/b%20c.txt', { kind: 'system', system: 'hpc1', path: '/a/b c.txt', name: 'b c.txt' }],
    ['agave:///a.txt', { kind: 'system', system: null, path: '/a.txt', name: 'a.txt' }],
    ['in/a.txt', { kind: 'system', system: null, path: 'in/a.txt', name: 'a.txt' }],
    ['sftp://u@h:2022/a/b', { kind: 'sftp', host: 'h', port: 2022, user: 'u', path: '/a/b', name: 'b' }],
  ])('%s', (text, source) => {
    expect(sourceOf(text)).toEqual(source);
  });

  test.each(['gridftp://h/x', 's3://b/x', 'http://[', 'FTP://h/x'])('%s is refused', (text) => {
    expect(() => sourceOf(text)).toThrow(Failed);
  });

  test('names of one kind differ, and none is one of the wrapper’s', () => {
    expect(distinct(['a.txt', 'a.txt', 'b', 'a.txt', '.agave.archive'])).toEqual([
      ...['a.txt', 'a-2.txt', 'b', 'a-3.txt', 'input.agave.archive'],
    ]);
    expect(distinct(['.muster-started', '.muster-started'])).toEqual([
      'input.muster-started',
      'input-2.muster-started',
    ]);
  });

  test.each(['../x', 'a/../../x', 'a\0b', '/..'])('%j does not lead out of a root', (path) => {
    expect(() => below('/root', path)).toThrow(Failed);
  });
});

describe('inputs', () => {
  let played: PlayedContext;
  let store: string;

  const begin = (given: Partial<Job>): void => {
    played = new PlayedContext({ status: 'STAGING_INPUTS', ...given });
    store = played.systems.get('store').system.root;
    mkdirSync(played.job.workPath ?? '', { recursive: true });
  };
  const inWork = (name: string): string => join(played.job.workPath ?? '', name);

  beforeEach(() => begin({}));
  afterEach(() => played.close());

  test('several of one name do not overwrite each other', async () => {
    begin({ inputs: { q: ['agave://store/a/x.txt', 'agave://store/b/x.txt'] } });
    put(join(store, 'a/x.txt'), 'one');
    put(join(store, 'b/x.txt'), 'two');
    await stageInputs(played.context);
    expect([readFileSync(inWork('x.txt'), 'utf8'), readFileSync(inWork('x-2.txt'), 'utf8')]).toEqual(['one', 'two']);
    expect(played.job.status).toBe('STAGED');
  });

  test('a directory comes whole, with permissions, without links', async () => {
    begin({ inputs: { d: 'agave://store/dir' } });
    put(join(store, 'dir/sub/run.sh'), '#!/bin/sh\n', 0o750);
    put(join(store, 'secret'), 's');
    symlinkSync(join(store, 'secret'), join(store, 'dir/link'));
    await stageInputs(played.context);
    expect(statSync(inWork('dir/sub/run.sh')).mode & 0o777).toBe(0o750);
    expect(existsSync(inWork('dir/link'))).toBe(false);
  });

  test('paths are on the system of the app, else on the default one', async () => {
    begin({ inputs: { q: 'x.txt' } });
    put(join(store, 'x.txt'), 'default');
    await stageInputs(played.context);
    expect(readFileSync(inWork('x.txt'), 'utf8')).toBe('default');
    begin({ inputs: { q: 'x.txt' } });
    put(join(played.systems.add('apps').system.root, 'x.txt'), 'of the app');
    played.app = newApp({ deployment: { system: 'apps', path: 'wc' } });
    await stageInputs(played.context);
    expect(readFileSync(inWork('x.txt'), 'utf8')).toBe('of the app');
  });

  test('one that is not there is told before anything is transferred', async () => {
    begin({ status: 'PROCESSING_INPUTS', inputs: { q: 'agave://store/none.txt' } });
    await expect(processInputs(played.context)).rejects.toMatchObject({
      condition: 'JOB_UNABLE_TO_STAGE_INPUTS',
      message: "the input 'agave://store/none.txt' is not there",
    });
  });

  test.each([
    ['PROCESSING_INPUTS', processInputs],
    ['STAGING_INPUTS', stageInputs],
  ] as const)('whose system was removed is told with its value: %s', async (status, phase) => {
    begin({ status, inputs: { q: 'agave://gone/x.txt' } });
    await expect(phase(played.context)).rejects.toMatchObject({
      condition: 'JOB_UNABLE_TO_STAGE_INPUTS',
      message: "the input q, 'agave://gone/x.txt', cannot be staged: there is no system gone",
    });
  });

  test('sftp is read through the system that is this host', async () => {
    begin({ inputs: { q: 'sftp://known/x.txt' } });
    put(join(store, 'x.txt'), 'by ssh');
    await stageInputs(played.context);
    expect(readFileSync(inWork('x.txt'), 'utf8')).toBe('by ssh');
    begin({ inputs: { q: 'sftp://stranger/x.txt' } });
    await expect(stageInputs(played.context)).rejects.toThrow('no system of the organization is at stranger');
  });

  describe('of the web', () => {
    let server: Server;
    let base: string;
    const asked: (string | undefined)[] = [];

    beforeEach(async () => {
      asked.length = 0;
      server = createServer((request, response) => {
        const body = Buffer.from('0123456789');
        asked.push(request.headers.range);
        if (request.url === '/moved') return void response.writeHead(302, { location: '/a.txt' }).end();
        if (request.url === '/busy') return void response.writeHead(503).end();
        if (request.url === '/none') return void response.writeHead(404).end();
        const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
        if (start > 0 && request.url === '/a.txt') {
          return void response.writeHead(206, { 'content-length': 10 - start }).end(body.subarray(start));
        }
        response.writeHead(200, { 'content-length': 10 }).end(body);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });

    afterEach(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });

    const web = new HttpWeb({ privateTargets: true });
    const staged = (path: string): Promise<void> => {
      begin({ inputs: { q: `${base}${path}` } });
      return stageInputs(played.with({ web }));
    };

    test('are fetched, also where they are said to be elsewhere', async () => {
      await staged('/moved');
      expect(readFileSync(inWork('moved'), 'utf8')).toBe('0123456789');
    });

    test.each(['/a.txt', '/norange'])('%s is read from where it is to begin', async (path) => {
      const { body, size } = await web.open(new URL(`${base}${path}`), 4, new AbortController().signal);
      expect(Buffer.concat(await body.toArray()).toString()).toBe('456789');
      expect(size).toBe(10);
      expect(asked).toEqual(['bytes=4-']);
    });

    test('a server that is busy blocks, one that has nothing fails', async () => {
      const busy = await staged('/busy').catch((error: unknown) => error);
      expect(busy).toBeInstanceOf(Blocked);
      expect(busy).toMatchObject({ obstacle: { condition: 'SERVICE_CONNECTION_FAILURE' } });
      await expect(staged('/none')).rejects.toThrow('answers 404');
    });

    test('private addresses are refused unless they are allowed', async () => {
      const strict = new HttpWeb({ privateTargets: false });
      for (const at of [base, base.replace('127.0.0.1', 'localhost')]) {
        begin({ inputs: { q: `${at}/a.txt` } });
        await expect(stageInputs(played.with({ web: strict }))).rejects.toThrow('private address');
      }
      expect(asked).toEqual([]);
    });
  });
});
