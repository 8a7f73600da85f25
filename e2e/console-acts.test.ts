import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Frame, header } from '@muster/fabric';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { EventClient } from '../packages/platform/test/support/event-client.js';
import { SIGNED_QUERY } from './support/api-client.js';
import { Cluster } from './support/cluster.js';
import { signIn, signInWith, type Visit, visit } from './support/console.js';
import { HeldCommand } from './support/held-command.js';
import { expectDone } from './support/personas.js';
import { until } from './support/until.js';

/** What is done with the console: by those who may not, to what runs, to take files away, and where the log begins. */

/** As strange as the name of a node can be: for other systems it is a folder above, a stream of a file, a page. */
const STRANGE = 'a..b:c@-.html';
/** As strange as the name of a file can be: markup, a change of direction, two lines, quotes, an empty name before a dot. */
const HOSTILE = '.<img src=x onerror=document.title=1>\u202egpj."\n\'; rm -rf ~.exe';
/** What no system takes for a part of a name, or takes for something else. */
const NO_NAME = /[/\\:*?"<>|\p{Cc}\u202e]|^[.~]|[. ]$/u;
const FORMULA = '=HYPERLINK("http://evil.example")';

/** Events that are more than the server keeps. */
const KEPT_BYTES = 1_048_576;
const FLOOD = 400;
const TOGETHER = 10;
const BODY = 'x'.repeat(3500);

const OCTETS = 100_000;

/** Fails, or writes what is no text. */
const PLUGIN = `#!/bin/sh
[ "$1" = octets ] || exit 3
cat "$DIR/octets"
`;

interface Entry {
  readonly status: string;
}

let cluster: Cluster;
let visitor: Visit;
let page: Page;
let held: HeldCommand;
let stubborn: HeldCommand;
/** What commands write: every octet, most of them no UTF-8, no line end at the end. */
let octets: Buffer;
let token: string;

/** Called so by nobody before, also where a test is tried again. */
const uniquely = (name: string): string => `${name}${randomBytes(4).toString('hex')}`;

const at = (path: string): string => `${cluster.url}/console/default${path}`;

beforeAll(async () => {
  cluster = await Cluster.start({ flags: ['--events-max-bytes', String(KEPT_BYTES)] });
  held = new HeldCommand(cluster.dir, 'held');
  stubborn = new HeldCommand(cluster.dir, 'stubborn', { stubborn: true });
  octets = Buffer.concat([
    Buffer.from(Array.from({ length: 256 }, (_, n) => n)),
    randomBytes(OCTETS),
    Buffer.from('\r'),
  ]);
  writeFileSync(join(cluster.dir, 'octets'), octets);
  const program = join(cluster.dir, 'plugin.sh');
  writeFileSync(program, PLUGIN.replaceAll('$DIR', cluster.dir));
  chmodSync(program, 0o755);
  await cluster.startAgents({
    web1: { commands: { long: held.entry }, tasks: { max: 2, plugins: { odd: { program, args: ['{file}'] } } } },
    web2: { commands: { long: stubborn.entry }, grace: 1 },
    [STRANGE]: { commands: { octets: { shell: `cat ${cluster.dir}/octets; cat ${cluster.dir}/octets >&2` } } },
  });
  await cluster.json('queue', 'create', 'odd', '--plugin', 'odd');
  const root = join(cluster.dir, 'jobs');
  mkdirSync(root);
  await cluster.json('system', 'create', 'here', '--type', 'local', '--root', root, '--default');
  for (const user of ['rita', 'wanda']) {
    await cluster.json('user', 'create', user, '--key-out', join(cluster.dir, `${user}.pem`));
  }
  token = (await cluster.json<{ token: string }>('access-token', 'create')).token;
  visitor = await visit(cluster);
  ({ page } = visitor);
  await signIn(cluster, page);
});
beforeEach(async () => {
  held.reset();
  stubborn.reset();
  await cluster.available('web1', 'web2');
});
afterAll(async () => {
  await visitor?.browser.close();
  await cluster?.stop();
});

/** On both nodes, where it runs until it is released or ended. */
async function runLong(): Promise<string> {
  const id = await cluster.startJob({ command: 'long', nodes: ['web1', 'web2'] });
  await cluster.nodeCountIn(id, 'running', 2);
  return id;
}

/** A long job of a new app. */
async function runShell(shell: string): Promise<string> {
  const name = uniquely('app');
  const app = join(cluster.dir, `${name}.json`);
  writeFileSync(app, JSON.stringify({ name, version: '1.0', command: ['sh', '-c', shell], parameters: [] }));
  await cluster.json('app', 'create', '--file', app);
  return (await cluster.json<{ id: string }>('job', 'run', `${name}-1.0`)).id;
}

/** A browser of somebody else, and everything but reading that its page asks the server for. */
async function visitAs(user: string): Promise<{ readonly page: Page; readonly acts: readonly string[] }> {
  const theirs = await visit(cluster, visitor.browser);
  onTestFinished(() => theirs.context.close());
  const made = await cluster.json<{ token: string }>('access-token', 'create', '--user', user, '--ttl', '1h');
  await signInWith(cluster, theirs.page, made.token);
  const acts: string[] = [];
  theirs.page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() !== 'GET' && pathname.startsWith('/organizations/'))
      acts.push(`${request.method()} ${pathname}`);
  });
  return { page: theirs.page, acts };
}

/** The button is there and says why not; neither mouse nor keys get anything of it. */
async function expectRefused(theirs: Page, label: string, why: RegExp): Promise<void> {
  const button = theirs.getByRole('button', { name: new RegExp(`^${label} ?: `) }).first();
  await button.waitFor();
  expect(await button.getAttribute('aria-disabled')).toBe('true');
  expect(await button.getAttribute('title')).toMatch(why);
  // Read out, too.
  expect(await button.innerText()).toMatch(why);
  await button.click({ force: true });
  await button.focus();
  for (const key of ['Enter', 'Space']) await theirs.keyboard.press(key);
  expect(await theirs.locator('dialog[open]').count()).toBe(0);
}

/** The name and the bytes of the file that the browser is given. */
async function downloaded(from: string): Promise<{ readonly name: string; readonly bytes: Buffer }> {
  const coming = page.waitForEvent('download');
  await page.getByRole(from === 'Download' ? 'link' : 'button', { name: from, exact: true }).click();
  const download = await coming;
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

async function connect(): Promise<EventClient> {
  const client = await EventClient.login(`stomp://127.0.0.1:${cluster.ports[3]}`, 'default/admin', token);
  onTestFinished(() => client.close());
  return client;
}

/** Events that match, from there on until the first one of that type. */
async function eventsUntil(selector: string, from: string, last: string): Promise<readonly Frame[]> {
  const client = await connect();
  await client.subscribe(selector, [['from', from]]);
  const events: Frame[] = [];
  let event: Frame;
  do {
    event = await client.event();
    events.push(event);
  } while (header(event, 'type') !== last);
  await client.close();
  return events;
}

const positionsOf = (events: readonly Frame[]) => events.map((event) => Number(header(event, 'message-id')));

/** Of the events that the page shows. */
async function savedPositions(): Promise<readonly number[]> {
  const { bytes } = await downloaded('Save as JSON lines');
  const lines = bytes.toString().trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { readonly position: number }).position);
}

describe('the console', () => {
  it('shows what somebody may not do with who may, and does it neither by mouse nor by keys', async () => {
    const running = await runLong();
    const { id: task } = await cluster.json<{ id: string }>('task', 'add', 'odd', '--param', 'file=a.png');
    await until('the task to fail', async () => {
      return (await cluster.json<{ status: string }>('task', 'show', task)).status === 'failed';
    });
    const ended = join(cluster.dir, uniquely('ended'));
    const job = await runShell(`while [ ! -e ${ended} ]; do sleep 0.1; done`);
    await cluster.json('job', 'share', job, '--user', 'rita');
    const { page: theirs, acts } = await visitAs('rita');

    await theirs.goto(at(`/push/${running}`));
    await expectRefused(theirs, 'Abort …', /you need the permission push:execute.*push_job_writers/s);
    await theirs.goto(at('/push/new?q=name:web1&command=long'));
    await theirs
      .getByText(/You cannot start push jobs: you need the permission push:execute.*push_job_writers/s)
      .waitFor();
    const run = theirs.getByRole('button', { name: 'Run', exact: true });
    expect(await run.isDisabled()).toBe(true);
    await run.click({ force: true });
    await theirs.getByLabel('Command', { exact: true }).press('Enter');

    await theirs.goto(at('/queues/odd'));
    await expectRefused(theirs, 'Add a task …', /you need the permission queue:write.*task_writers/s);
    for (const label of ['Pause', 'Limits …', 'Delete …']) {
      await expectRefused(theirs, label, /you need the permission task:write.*task_writers/s);
    }
    await theirs.goto(at(`/tasks/${task}`));
    for (const label of ['Retry', 'Delete …']) {
      await expectRefused(theirs, label, /you need the permission task:write.*task_writers/s);
    }
    await theirs.goto(at(`/jobs/${job}`));
    for (const label of ['Cancel …', 'Pause …', 'Resubmit …']) {
      await expectRefused(theirs, label, /it is admin’s: you need the permission job:admin.*job_admins/s);
    }
    expect(acts).toEqual([]);
    expect((await cluster.job(running)).status).toBe('running');
    writeFileSync(ended, '');
    await cluster.api.put(`pushy/jobs/${running}/abort`);
    await cluster.jobIs(running, 'aborted');
  });

  it('says what the server refuses whose right is lost meanwhile, and keeps what they have typed', async () => {
    const groups = ['push_job_writers', 'task_writers'];
    const writers = async (...users: readonly string[]) => {
      for (const group of groups) {
        expectDone(await cluster.api.put(`groups/${group}`, { users, clients: [], groups: [], exclusive: false }));
      }
    };
    await writers('wanda');
    const running = await runLong();
    const { page: theirs, acts } = await visitAs('wanda');
    await theirs.goto(at(`/push/${running}`));
    await theirs.getByRole('button', { name: 'Abort …' }).click();
    await theirs.getByRole('heading', { name: 'Abort this job?' }).waitFor();
    const start = await theirs.context().newPage();
    await start.goto(at('/push/new'));
    await start.getByLabel('Nodes that match').fill('name:web1');
    await start.getByLabel('Command', { exact: true }).fill('long');
    await start.getByLabel('Run timeout').fill('90');
    // It is in the other job.
    await start.getByRole('button', { name: 'Run anyway …' }).click();
    const add = await theirs.context().newPage();
    await add.goto(at('/queues/odd'));
    await add.getByRole('button', { name: 'Add a task …' }).click();
    await add.getByLabel('Parameters').fill('file=kept.png\nwidth=200');

    await writers();
    await theirs.getByRole('button', { name: 'Abort the job' }).click();
    await theirs
      .getByRole('alert')
      .getByText(/push:execute.*push_job_writers/s)
      .waitFor();
    expect(acts).toEqual([`PUT /organizations/default/pushy/jobs/${running}/abort`]);
    expect((await cluster.job(running)).status).toBe('running');

    await start.locator('dialog[open]').getByRole('button', { name: 'Run on 1 node' }).click();
    await start
      .getByRole('alert')
      .getByText(/push:execute.*push_job_writers/s)
      .waitFor();
    expect(await start.getByLabel('Nodes that match').inputValue()).toBe('name:web1');
    expect(await start.getByLabel('Command', { exact: true }).inputValue()).toBe('long');
    expect(await start.getByLabel('Run timeout').inputValue()).toBe('90');

    const dialog = add.locator('dialog[open]');
    await dialog.getByRole('button', { name: 'Add the task' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/queue:write.*task_writers/s)
      .waitFor();
    expect(await dialog.getByLabel('Parameters').inputValue()).toBe('file=kept.png\nwidth=200');

    // With the right given back, the same is done without being typed again.
    await writers('wanda');
    await dialog.getByRole('button', { name: 'Add the task' }).click();
    await add.waitForURL(/\/tasks\/[0-9a-f]{24}$/);
    await theirs.bringToFront();
    await theirs.getByRole('button', { name: 'Abort …' }).click();
    await theirs.getByRole('button', { name: 'Abort the job' }).click();
    await theirs.locator('.badge', { hasText: 'aborted' }).waitFor();
    expect(await theirs.getByRole('alert').count()).toBe(0);
    await cluster.available('web1');
    await start.bringToFront();
    await start.getByRole('button', { name: 'Preview again' }).click();
    await start.getByRole('button', { name: 'Run on 1 node' }).click();
    await start.waitForURL(/\/push\/[0-9a-f]{32}$/);
    await cluster.api.put(`pushy/jobs/${start.url().slice(-32)}/abort`);
    for (const group of groups) expectDone(await cluster.api.delete(`groups/${group}`));
  });

  it('aborts a job that runs: its programs are gone, and what is shown is what the server says', async () => {
    await page.goto(at('/push/new?q=name:web*&command=long'));
    await page.getByRole('button', { name: 'Run on 2 nodes' }).click();
    await page.waitForURL(/\/push\/[0-9a-f]{32}$/);
    const id = page.url().slice(-32);
    await page.locator('.chip', { hasText: 'running' }).getByText('2').waitFor();
    await until('both programs to run', () => held.running === 1 && stubborn.running === 1);
    await page.getByRole('button', { name: 'Abort …' }).click();
    await page.getByText('The command is killed where it runs (2 nodes), and started nowhere else.').waitFor();
    await page.getByRole('button', { name: 'Let it run' }).click();
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    expect([held.running, stubborn.running]).toEqual([1, 1]);

    await page.getByRole('button', { name: 'Abort …' }).click();
    await page.getByRole('button', { name: 'Abort the job' }).click();
    await page.locator('.badge', { hasText: /^\W*aborted$/ }).waitFor();
    await page.locator('.chip', { hasText: 'aborted' }).getByText('2').waitFor();
    await page.getByRole('link', { name: 'Rerun 2 aborted …' }).waitFor();
    expect(await page.getByRole('button', { name: 'Abort …' }).count()).toBe(0);
    // What ignores TERM lives on until its node's grace has passed.
    await until('both programs to be gone', () => held.running === 0 && stubborn.running === 0);
    const job = await cluster.job(id);
    expect(job).toMatchObject({ status: 'aborted', nodes: { aborted: ['web1', 'web2'] } });
    const { json } = await cluster.api.get(`pushy/jobs/${id}/nodes`);
    const nodes = json as readonly {
      node_name: string;
      exit_code: number | null;
      signal: string | null;
      reason: string;
    }[];
    const cells = await page
      .locator('.table-row')
      .evaluateAll((rows) => rows.map((row) => [...row.children].slice(0, 4).map((cell) => cell.textContent)));
    expect(cells).toEqual(
      nodes.map(({ node_name: name, exit_code: exit, signal, reason }) => [
        name,
        expect.stringMatching(/aborted$/),
        String(exit ?? signal ?? '–'),
        reason ?? '',
      ]),
    );
    await page.reload();
    await page.locator('.badge', { hasText: /^\W*aborted$/ }).waitFor();
  });

  it('gives what a command wrote byte for byte, under a name that is one, whatever node or program has chosen', async () => {
    const id = await cluster.startJob({ command: 'octets', nodes: [STRANGE], capture_output: true });
    await cluster.jobIs(id, 'complete');
    for (const stream of ['stdout', 'stderr']) {
      await page.goto(at(`/push/${id}?view=output&node=${encodeURIComponent(STRANGE)}&stream=${stream}`));
      await page.locator('.output .row').first().waitFor();
      const { name, bytes } = await downloaded('Download');
      expect(name).toBe(`${id.slice(12, 20)}-${STRANGE.replace(':', '_')}.${stream}`);
      expect(bytes.equals(octets)).toBe(true);
    }

    const task = await cluster.json<{ id: string }>('task', 'add', 'odd', '--param', 'file=octets');
    await page.goto(at(`/tasks/${task.id}`));
    await page.locator('.badge', { hasText: 'succeeded' }).waitFor();
    const ofTask = await downloaded('Download');
    expect(ofTask.name).toBe(`${task.id}-1.stdout`);
    expect(ofTask.bytes.equals(octets)).toBe(true);

    const named = join(cluster.dir, 'named');
    writeFileSync(named, HOSTILE);
    const job = await runShell(`cat ${cluster.dir}/octets > "$(cat ${named})"`);
    await page.goto(at(`/jobs/${job}?view=outputs`));
    await page.locator('.badge', { hasText: 'finished' }).waitFor();
    await page.getByRole('button', { name: /^Show all/ }).click();
    await page.getByRole('button', { name: /gpj/ }).click();
    const ofJob = await downloaded('Download');
    expect(ofJob.name).not.toMatch(NO_NAME);
    expect(ofJob.name).toMatch(/img src=x.*gpj.*exe$/);
    expect(ofJob.bytes.equals(octets)).toBe(true);
    expect(await page.title()).not.toBe('1');
  });

  it('gives lists as files, in which nothing is a formula', async () => {
    const id = await cluster.startJob({ command: FORMULA, nodes: ['web1'] });
    await cluster.jobEnds(id);
    await page.goto(at('/push'));
    await page.getByRole('row', { name: FORMULA }).waitFor();
    const csv = await downloaded('as CSV');
    expect(csv.name).toBe('push-jobs.csv');
    expect(csv.bytes.toString()).toContain(`,"'${FORMULA.replaceAll('"', '""')}",`);
    const lines = await downloaded('Save as JSON lines');
    expect(lines.name).toBe('push-jobs.jsonl');
    const jobs = lines.bytes
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly id: string; readonly command: string });
    expect(jobs.find((job) => job.id === id)?.command).toBe(FORMULA);
  });

  it('goes on where the server was killed in the middle: events and phases of jobs are those that the server tells', async () => {
    const id = await runLong();
    const ended = join(cluster.dir, uniquely('ended'));
    const job = await runShell(`while [ ! -e ${ended} ]; do sleep 0.1; done`);
    await page.goto(at(`/push/${id}?view=events`));
    await page
      .getByRole('row', { name: /push\./ })
      .first()
      .waitFor();
    const phases = await visitor.context.newPage();
    onTestFinished(() => phases.close());
    await phases.goto(at(`/jobs/${job}`));
    await phases.locator('.badge', { hasText: 'running' }).waitFor();

    await cluster.killServer();
    for (const tab of [page, phases]) await tab.getByText('reconnecting').waitFor();
    await cluster.restartServer();
    held.release();
    stubborn.release();
    writeFileSync(ended, '');
    await page.locator('.badge', { hasText: 'complete' }).waitFor();
    await phases.locator('.badge', { hasText: 'finished' }).waitFor();

    const told = (await cluster.api.get(`jobs/v2/${job}/history?naked=true&limit=250`, SIGNED_QUERY))
      .json as readonly Entry[];
    const words = told.map(({ status }) => status.toLowerCase().replaceAll('_', ' '));
    const history = phases.locator('.lines li strong');
    await expect.poll(async () => (await history.allInnerTexts()).toReversed()).toEqual(words);
    const way = words.filter((word, n) => word !== words[n - 1]);
    const shown = await phases.locator('.phases li:not(.ahead) > span:first-child').allInnerTexts();
    expect(shown.map((text) => text.trim())).toEqual(way);

    await page.bringToFront();
    await page.getByRole('row', { name: /push\.job_complete/ }).waitFor();
    await cluster.json('event', 'publish', 'all.told', '--attr', `job=${id}`);
    await page.getByRole('row', { name: /all\.told/ }).waitFor();
    const events = await eventsUntil(`job = '${id}'`, 'first', 'all.told');
    expect(await savedPositions()).toEqual(positionsOf(events));
  });

  it('says that events are kept no longer, shows those that are, follows, and asks once', async () => {
    const flood = uniquely('flood');
    const selector = `type LIKE '${flood}.%'`;
    const flooded = (from: string) => eventsUntil(selector, from, `${flood}.end`);
    const { position } = (await cluster.api.get('events')).json as { readonly position: number };
    const client = await connect();
    // Those that come together are stored together, and go together.
    for (let n = 0; n < FLOOD; n += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, () => client.publish(`${flood}.event`, [], BODY)));
    }
    await client.publish(`${flood}.end`);
    await until('the first ones to be gone', async () => {
      return header((await flooded(String(position)))[0] as Frame, 'type') === 'fabric.dropped';
    });
    const kept = positionsOf(await flooded('first'));
    expect(kept.length).toBeGreaterThan(TOGETHER);

    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    let subscriptions = 0;
    const endless = new Promise<void>((resolve) => {
      page.on('websocket', (socket) =>
        socket.on('framesent', ({ payload }) => {
          const frame = String(payload);
          if (!frame.startsWith('SUBSCRIBE\n') || !frame.includes(flood)) return;
          subscriptions += 1;
          if (subscriptions > 2) resolve();
        }),
      );
    });
    await page.goto(at(`/events?q=${encodeURIComponent(selector)}&from=${position}`));
    await page.getByText('Some events may be missing: the server keeps them no longer.').waitFor();
    await Promise.race([page.getByText(`${kept.length} events`, { exact: true }).waitFor(), endless]);
    // From there, where the server says that it keeps them no longer, and from the first that it keeps.
    expect(subscriptions).toBe(2);
    expect(await savedPositions()).toEqual(kept);

    await page.getByText('live', { exact: true }).waitFor();
    const before = asked.length;
    await client.publish(`${flood}.fresh`);
    await page.getByRole('row', { name: `${flood}.fresh` }).waitFor();
    await page.getByText(`${kept.length + 1} events`, { exact: true }).waitFor();
    expect(asked.slice(before)).toEqual([]);
    expect(asked.filter((url) => url.includes('/organizations/')).length).toBeLessThan(10);
    expect(subscriptions).toBe(2);
  });

  it('asks no other host, and keeps to its policy', () => {
    expect(visitor.harm).toEqual([]);
  });
});
