import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { SIGNED_QUERY } from './support/api-client.js';
import { Cluster } from './support/cluster.js';
import { signIn, signInLink, signInWith, type Visit, visit } from './support/console.js';
import { until } from './support/until.js';

/** What is promised of the console while things change: other tabs, lost connections, other counts, much output. */

/** Nodes that are there and never up: more rows than a window has. */
const ABSENT = 300;
/** A table has at most so many rows in the page. */
const MOST_ROWS = 80;
/** A browser has six connections of HTTP/1.1 to one server. */
const FOLLOWERS = 8;
const IDLE_MS = 60_000;
const SETTLED_MS = 3000;

/** Waits in the middle of what it writes, and ends badly where it is told to. */
const SLOW = 'seq -f "line %.0f" 1 3000; while [ ! -e "$DIR/go" ]; do sleep 0.1; done; seq -f "line %.0f" 3001 6000';
const PICKY = 'if [ -e "$DIR/mended" ]; then echo fine; else echo "lock held" >&2; exit 3; fi';

/** A job queue that is not there at the beginning. */
const LONG = 'aloe.jobq.default.submit.Long';

/** Each in a tab of its own. */
const TABS = [
  ...['', '/nodes', '/nodes/web1', '/push', '/push/new', '/events', '/queues', '/jobs', '/audit', '/runbooks'],
  ...['/jobs/recovery', '/jobs/queues', '/jobs/workers', '/jobs/messages', '/rules', '/schedules', '/servers'],
];

/** In a page: what it asks the server for, and how much of it has no answer yet. */
const COUNTS_REQUESTS = `
  window.asked = [];
  window.unanswered = 0;
  const ask = window.fetch;
  window.fetch = (path, ...more) => {
    asked.push(path);
    unanswered += 1;
    return ask(path, ...more).finally(() => (unanswered -= 1));
  };`;

interface Sealed {
  readonly seal: { readonly number: number };
  /** JSON texts. */
  readonly entries: readonly string[];
}

let cluster: Cluster;
let visitor: Visit;
let page: Page;

const at = (path: string): string => `${cluster.url}/console/default${path}`;

beforeAll(async () => {
  cluster = await Cluster.start();
  const inDir = (shell: string) => ({ shell: shell.replaceAll('$DIR', cluster.dir) });
  const commands = { slow: inDir(SLOW), picky: inDir(PICKY), greet: { shell: 'echo hello' } };
  await cluster.startAgents({
    web1: { commands, labels: { role: 'web' } },
    web2: { commands: { ...commands, picky: { shell: 'echo fine' } }, labels: { role: 'web' } },
  });
  visitor = await visit(cluster);
  ({ page } = visitor);
});
afterAll(async () => {
  await visitor?.browser.close();
  await cluster?.stop();
});

async function registerNodes(names: readonly string[]): Promise<void> {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const public_key = publicKey.export({ type: 'spki', format: 'pem' });
  for (const name of names) expect((await cluster.api.post('nodes', { name, public_key })).status).toBe(201);
}

/** Its number, if it seals the newest entry of the audit. */
async function lastSeal(): Promise<number | undefined> {
  const read = async <T>(path: string) => (await cluster.api.get(path, SIGNED_QUERY)).json as T;
  const [newest] = await read<readonly { id: number }[]>('audit?limit=1');
  for (let last = 0; ; ) {
    const { seals } = await read<{ seals: readonly Sealed[] }>(`audit/seals?after=${last}`);
    const sealed = seals.at(-1);
    if (sealed === undefined) return undefined;
    last = sealed.seal.number;
    if (sealed.entries.some((text) => (JSON.parse(text) as { id: number }).id === newest?.id)) return last;
  }
}

/** Names of nodes of whose creation events tell. */
const ticks = (name: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `${name}-${from + n}`);

/** The words of whatever has the focus. */
const focused = (): Promise<string> =>
  page.evaluate(
    "(document.activeElement.labels?.[0] ?? document.activeElement).innerText?.trim() || document.activeElement.getAttribute('aria-label') || document.activeElement.tagName",
  );

/** Goes on with Tab until something of that name has the focus, which must be seen at each step. */
async function tabTo(name: RegExp): Promise<void> {
  for (let n = 0; n < 80; n += 1) {
    await page.keyboard.press('Tab');
    const unseen = await page.evaluate(`(() => {
      const { activeElement: element } = document;
      const { outlineStyle, boxShadow } = getComputedStyle(element);
      return element !== document.body && outlineStyle === 'none' && boxShadow === 'none' ? element.outerHTML.slice(0, 200) : null;
    })()`);
    expect(unseen).toBeNull();
    if (name.test(await focused())) return;
  }
  throw new Error(`no Tab leads to ${name}`);
}

describe('the console', () => {
  it('is used by keys alone from signing in to running the failed ones again, and shows where one is', async () => {
    await page.goto(await signInLink(cluster));
    await page.getByRole('button', { name: 'Sign in as admin' }).waitFor();
    await tabTo(/^Sign in as admin$/);
    await page.keyboard.press('Enter');
    await page.getByText('live', { exact: true }).waitFor();
    await page.keyboard.press('c');
    await page.getByRole('heading', { name: 'New push job' }).waitFor();
    await tabTo(/^Nodes that match$/);
    await page.keyboard.type('role:web');
    await page.keyboard.press('Escape');
    await tabTo(/^Command$/);
    await page.keyboard.type('picky');
    await page.getByText('2 nodes match.').waitFor();
    // What changes elsewhere takes the focus from nobody.
    await registerNodes(['spare']);
    await page.getByText('Quorum: 2 of 2 must be ready; 2 can.').waitFor();
    expect(await focused()).toBe('Command');
    await tabTo(/^Run on 2 nodes$/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/push\/[0-9a-f]{32}$/);
    await page.getByRole('link', { name: 'Rerun 1 failed …' }).waitFor();
    writeFileSync(join(cluster.dir, 'mended'), '');
    await tabTo(/^Rerun 1 failed …$/);
    await page.keyboard.press('Enter');
    await page.getByText('1 node matches.').waitFor();
    await tabTo(/^Run on 1 node$/);
    await page.keyboard.press('Enter');
    await page.locator('.badge', { hasText: 'complete' }).waitFor();
    await page.locator('.chip', { hasText: 'succeeded' }).getByText('1').waitFor();
  });

  it('runs on as many as it said, or tells the difference', async () => {
    const start = async (): Promise<string> => {
      await page.goto(at('/push/new?q=name:web*&command=greet'));
      await page.getByText('2 nodes match.').waitFor();
      await page.getByRole('button', { name: 'Run on 2 nodes' }).click();
      await page.waitForURL(/\/push\/[0-9a-f]{32}$/);
      await page.locator('.badge').first().waitFor();
      return page.url().slice(-32);
    };
    const nodesOf = async (id: string) => (await cluster.json<{ node_count: number }>('push', 'status', id)).node_count;
    expect(await nodesOf(await start())).toBe(2);
    expect(await page.getByText('The preview said').count()).toBe(0);
    // One more comes after the preview was read, and before the job is started.
    await page.route('**/pushy/jobs', async (route) => {
      if (route.request().method() === 'POST') await registerNodes(['web3']);
      await route.continue();
    });
    expect(await nodesOf(await start())).toBe(3);
    await page.getByText('The preview said 2 nodes; when the job was started, 3 nodes matched.').waitFor();
    await page.unroute('**/pushy/jobs');
  });

  it('shows hundreds of nodes by a few rows, the same in another tab by its address', async () => {
    await registerNodes(Array.from({ length: ABSENT }, (_, n) => `absent-${String(n).padStart(3, '0')}`));
    await page.goto(at('/nodes?q=name:absent*&sort=-name'));
    await page.getByText(`${ABSENT} of `).waitFor();
    const rows = page.locator('.table-row');
    const names = async (of: Page) => of.locator('.table-row a.mono').allInnerTexts();
    expect((await names(page))[0]).toBe('absent-299');
    const other = await visitor.context.newPage();
    await other.goto(page.url());
    await other.locator('.table-row').first().waitFor();
    expect(await names(other)).toEqual(await names(page));
    await other.close();
    await page.locator('.table-scroll').hover();
    for (let at = 0; at < ABSENT * 40; at += 2000) {
      await page.mouse.wheel(0, 2000);
      expect(await rows.count()).toBeLessThanOrEqual(MOST_ROWS);
    }
    await page.getByRole('row', { name: 'absent-000' }).waitFor();
    const shown = await names(page);
    expect(shown).toEqual([...shown].sort().reverse());
    expect(shown.at(-1)).toBe('absent-000');
  });

  it('shows what one of hundreds of nodes wrote, chosen by a part of its name', async () => {
    const { id } = await cluster.json<{ id: string }>(
      'push',
      'start',
      'name:absent*',
      '--detach',
      '--yes',
      '--',
      'greet',
    );
    await page.goto(at(`/push/${id}?view=output`));
    const node = page.getByLabel('Node', { exact: true });
    await page.getByText(`of ${ABSENT}`, { exact: true }).waitFor();
    await node.fill('nt-27');
    await page.getByText('absent-270 with Enter').waitFor();
    await node.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('node')).toBe('absent-270');
    await node.fill('absent-123');
    await expect.poll(() => new URL(page.url()).searchParams.get('node')).toBe('absent-123');
    await node.fill('present');
    await page.getByText('the job has no node of such a name').waitFor();
    const shots = process.env.MUSTER_TEST_SHOTS;
    if (shots !== undefined) await page.screenshot({ path: `${shots}/node-choice.png` });
  });

  it('keeps its place in output that grows, finds lines in it, and has a link to each', async () => {
    rmSync(join(cluster.dir, 'go'), { force: true });
    const { id } = await cluster.json<{ id: string }>('push', 'start', '--node', 'web1', '--detach', '--', 'slow');
    await page.goto(at(`/push/${id}?view=output&node=web1`));
    await page.locator('.output .row', { hasText: /^3000\s*line 3000$/ }).waitFor();
    expect(page.workers()).toHaveLength(1);
    await page.locator('.output').hover();
    await page.mouse.wheel(0, -20_000);
    await expect
      .poll(() => page.getByRole('button', { name: 'stay at the end' }).getAttribute('aria-pressed'))
      .toBe('false');
    const place = () => page.locator('.output').evaluate(({ scrollTop }) => scrollTop);
    await page.waitForFunction("document.querySelector('.output .row .text').innerText !== ''");
    const before = await place();
    writeFileSync(join(cluster.dir, 'go'), '');
    await page.getByText('6,000 lines').waitFor();
    await page.locator('.badge', { hasText: 'complete' }).waitFor();
    expect(await place()).toBe(before);

    await page.getByLabel('Find in the output').fill('LINE 599');
    await page.getByText('1 of 11').waitFor();
    await page.locator('.output .row.found', { hasText: 'line 599' }).first().waitFor();
    await page.getByRole('link', { name: '599', exact: true }).click();
    const other = await visitor.context.newPage();
    await other.goto(page.url());
    await other.locator('.output .row.linked', { hasText: 'line 599' }).waitFor();
    await other.getByText('1 of 11').waitFor();
    await other.getByRole('button', { name: 'wrap' }).click();
    await other.locator('.output.wrapped .row').first().waitFor();
    await other.close();
  });

  it('follows output in more tabs than a browser has connections, and goes on where the server was killed', async () => {
    const go = join(cluster.dir, 'go');
    rmSync(go, { force: true });
    const { id } = await cluster.json<{ id: string }>('push', 'start', '--node', 'web1', '--detach', '--', 'slow');
    const tabs: Page[] = [];
    for (let n = 0; n < FOLLOWERS; n += 1) {
      const tab = await visitor.context.newPage();
      await tab.goto(at(`/push/${id}?view=output&node=web1`));
      await tab.locator('.output .row', { hasText: /^3000\s*line 3000$/ }).waitFor();
      tabs.push(tab);
    }
    await page.goto(at('/nodes/web1'));
    await page.locator('.facts').first().waitFor();

    await cluster.killServer();
    for (const tab of tabs) await tab.getByText('reconnecting').waitFor();
    await cluster.restartServer();
    writeFileSync(go, '');
    for (const tab of tabs) {
      await tab.getByText('6,000 lines').waitFor();
      await tab.locator('.badge', { hasText: 'complete' }).waitFor();
      await tab.locator('.output .row', { hasText: /^6000\s*line 6000$/ }).waitFor();
      await tab.close();
    }
    expect(visitor.harm).toEqual([]);
  });

  it('hears of everything in many tabs, and asks for nothing while nothing happens', async () => {
    const patient = await visit(cluster, visitor.browser, true);
    onTestFinished(() => patient.context.close());
    await patient.context.addInitScript(COUNTS_REQUESTS);
    await signIn(cluster, patient.page);
    const tabs: { readonly path: string; readonly tab: Page; readonly heard: string[] }[] = [];
    for (const path of TABS) {
      const tab = await patient.context.newPage();
      const heard: string[] = [];
      tab.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => heard.push(String(payload))));
      await tab.goto(at(path));
      await tab.getByText('live', { exact: true }).waitFor();
      await tab.locator('.table-row, .empty, .tally strong, .facts, .form, .lines').first().waitFor();
      tabs.push({ path, tab, heard });
    }
    const of = (wanted: string) => tabs.find(({ path }) => path === wanted)?.tab;
    const before = (await of('/push')?.locator('.table-row').count()) ?? 0;
    await cluster.json('push', 'start', '--node', 'web2', '--', 'greet', 'you').catch(() => undefined);
    await of('')?.getByRole('link', { name: 'greet you' }).first().waitFor();
    await expect.poll(() => of('/push')?.locator('.table-row').count()).toBe(before + 1);
    await of('/events')
      ?.getByRole('row', { name: /push\.job_complete/ })
      .first()
      .waitFor();

    const [worker] = await cluster.json<readonly { id: string }[]>('worker', 'list');
    await cluster.json('worker', 'suspend', worker?.id ?? '');
    await of('/jobs/workers')?.getByText('suspended').first().waitFor();
    await cluster.json('worker', 'resume', worker?.id ?? '');
    await of('/jobs/workers')?.getByText('running').first().waitFor();
    const definitions = join(cluster.dir, 'queues.json');
    writeFileSync(
      definitions,
      JSON.stringify([{ name: LONG, tenantId: 'default', priority: 9, filter: 'maxHours >= 24' }]),
    );
    await cluster.json('job-queue', 'apply', '-f', definitions);
    await of('/jobs/queues')?.getByText('maxHours >= 24').waitFor();

    // The last that happens: a moment after what was done last, the audit of it is sealed.
    const seal = await until('all that was done is sealed', lastSeal);
    const audit = tabs.find(({ path }) => path === '/audit');
    await until('the audit has heard of the last seal', () =>
      audit?.heard.some((frame) => frame.includes('audit.sealed') && frame.includes(`seal:${seal}\n`)),
    );
    // What they heard of is read once more, a moment later, and again if something came meanwhile.
    for (const _ of ['once', 'again']) {
      await patient.context.clock.runFor(SETTLED_MS);
      await expect
        .poll(() => Promise.all(tabs.map(({ tab }) => tab.evaluate('unanswered'))))
        .toEqual(tabs.map(() => 0));
    }
    await Promise.all(tabs.map(({ tab }) => tab.evaluate('asked.length = 0')));
    // The clock of all of them.
    await patient.context.clock.runFor(IDLE_MS);
    // A minute of their clock without a sign of the server is a lost connection, and another one takes a ticket.
    const asked = await Promise.all(
      tabs.map(({ tab }) => tab.evaluate("asked.filter((path) => path !== '/session/ticket')")),
    );
    expect(asked).toEqual(tabs.map(() => []));
    // As a laptop that has slept: each makes its connection again, and follows from where it was.
    await cluster.json('push', 'start', '--node', 'web2', '--', 'greet', 'again').catch(() => undefined);
    await of('')?.getByRole('link', { name: 'greet again' }).first().waitFor();
    await expect.poll(() => of('/push')?.locator('.table-row').count()).toBe(before + 2);
    await Promise.all(tabs.map(({ tab }) => tab.getByText('live', { exact: true }).waitFor()));
    expect(patient.harm).toEqual([]);
  });

  it('tells somebody who is no administrator of their own jobs, and asks for nothing while nothing happens', async () => {
    const root = join(cluster.dir, 'jobs');
    mkdirSync(root);
    await cluster.json('system', 'create', 'here', '--type', 'local', '--root', root, '--default');
    const app = join(cluster.dir, 'wait.json');
    const command = ['sh', '-c', `while [ ! -e ${cluster.dir}/ended ]; do sleep 0.1; done`];
    writeFileSync(app, JSON.stringify({ name: 'wait', version: '1.0', command, parameters: [] }));
    await cluster.json('app', 'create', '--file', app);
    await cluster.json('user', 'create', 'dora', '--key-out', join(cluster.dir, 'dora.pem'));
    const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'dora', '--ttl', '1h');
    const patient = await visit(cluster, visitor.browser, true);
    onTestFinished(() => patient.context.close());
    await patient.context.addInitScript(COUNTS_REQUESTS);
    await signInWith(cluster, patient.page, token);
    const list = await patient.context.newPage();
    await list.goto(at('/jobs'));
    await list.getByRole('heading', { name: 'No job yet' }).waitFor();

    const submitted = await fetch(`${cluster.url}/organizations/default/jobs/v2?naked=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'mine', appId: 'wait-1.0', archive: false }),
    });
    const { id } = (await submitted.json()) as { id: string };
    const row = list.locator('.table-row', { hasText: 'mine' });
    await row.getByText('running').waitFor();
    const job = await patient.context.newPage();
    await job.goto(at(`/jobs/${id}`));
    await job.locator('.badge', { hasText: 'running' }).waitFor();
    const tabs = [patient.page, list, job];
    for (const tab of tabs) await tab.getByText('live', { exact: true }).waitFor();
    await patient.context.clock.runFor(SETTLED_MS);
    await expect.poll(() => Promise.all(tabs.map((tab) => tab.evaluate('unanswered')))).toEqual(tabs.map(() => 0));
    await Promise.all(tabs.map((tab) => tab.evaluate('asked.length = 0')));
    await patient.context.clock.runFor(IDLE_MS);
    const asked = await Promise.all(
      tabs.map((tab) => tab.evaluate("asked.filter((path) => path !== '/session/ticket')")),
    );
    expect(asked).toEqual(tabs.map(() => []));
    await Promise.all(tabs.map((tab) => tab.getByText('live', { exact: true }).waitFor()));
    writeFileSync(join(cluster.dir, 'ended'), '');
    await job.locator('.badge', { hasText: 'finished' }).waitFor();
    await row.getByText('finished').waitFor();

    rmSync(join(cluster.dir, 'ended'));
    const theirs = await cluster.json<{ id: string }>('job', 'run', 'wait-1.0', '--name', 'theirs');
    await cluster.json('job', 'share', theirs.id, '--user', 'dora');
    await list.reload();
    const shared = list.locator('.table-row', { hasText: 'theirs' });
    await shared.getByText('running').waitFor();
    writeFileSync(join(cluster.dir, 'ended'), '');
    await until(
      'it has ended',
      async () => (await cluster.json<{ status: string }>('job', 'show', theirs.id)).status === 'FINISHED',
    );
    // No event says so.
    await patient.context.clock.runFor(2 * SETTLED_MS);
    await shared.getByText('finished').waitFor();
    expect(patient.harm).toEqual([]);
  });

  it('misses nothing and shows nothing twice when the server is killed in the middle of a job, and when it is away for minutes', async () => {
    const wait = join(cluster.dir, 'go');
    const tick = `tick-${randomBytes(4).toString('hex')}`;
    const away = await visit(cluster, visitor.browser, true);
    onTestFinished(() => away.context.close());
    await signIn(cluster, away.page);
    const { page: events } = away;
    await events.goto(at(`/events?q=${encodeURIComponent(`type = 'node.created' AND node LIKE '${tick}%'`)}`));
    await events.getByText('Nothing yet').waitFor();
    await registerNodes(ticks(tick, 1, 5));
    await events.getByRole('row', { name: `${tick}-5` }).waitFor();
    // It waits for a file that is not there.
    rmSync(wait, { force: true });
    const { id } = await cluster.json<{ id: string }>(
      'push',
      'start',
      "name LIKE 'web%'",
      '--quorum',
      '2',
      '--detach',
      '--',
      'slow',
    );
    await page.goto(at(`/push/${id}?view=table`));
    await page.locator('.chip', { hasText: 'running' }).getByText('2').waitFor();

    await cluster.killServer();
    await events.getByText('reconnecting').waitFor();
    await events.clock.fastForward(5 * 60_000);
    await cluster.restartServer();
    await registerNodes(ticks(tick, 6, 9));
    writeFileSync(wait, '');
    await page.locator('.badge', { hasText: /complete|failed|crashed/ }).waitFor();
    await events.clock.runFor(20_000);
    await events.getByRole('row', { name: `${tick}-9` }).waitFor();
    const seen = (await events.locator('.table-row').allInnerTexts()).map((text) => text.split(`${tick}-`)[1]?.[0]);
    expect(seen).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9']);
    expect(away.harm).toEqual([]);

    const rest = await until('all nodes of the job have ended', async () => {
      const { json } = await cluster.api.get(`pushy/jobs/${id}/nodes`);
      const nodes = json as readonly { node_name: string; status: string }[];
      return nodes.every(({ status }) => !['running', 'ready', 'new'].includes(status)) ? nodes : undefined;
    });
    for (const { node_name: name, status } of rest) {
      await page.getByRole('row', { name }).getByText(status.replace('_', ' ')).waitFor();
    }
    await page.goto(at('/nodes'));
    const { json } = await cluster.api.get('nodes?limit=1000', SIGNED_QUERY);
    await page.getByText(`of ${(json as { nodes: readonly unknown[] }).nodes.length}`).waitFor();
  });

  it('asks no other host, and keeps to its policy', () => {
    expect(visitor.harm).toEqual([]);
  });
});
