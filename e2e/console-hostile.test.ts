import { generateKeyPairSync } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from './support/cluster.js';
import { signIn, type Visit, violationsOf, visit } from './support/console.js';

/** The web console among people and programs that mean harm, and where little is as it should be. */

const ESC = '\u001b';
/** What a program might give for a name: markup, a link and colours of terminals, a change of direction. */
const HOSTILE = `<img src=x onerror=document.title=1>${ESC}]8;;http://evil.example\u0007link${ESC}[31m\u202e`;
/** The same as it is to be read. */
const SHOWN = '<img src=x onerror=document.title=1>‹U+001B›]8;;http://evil.example‹U+0007›link‹U+001B›[31m‹U+202E›';
const UNBROKEN = 'x'.repeat(4096);
/** An event has at most 4 KiB of attributes and body together. */
const IN_EVENT = 'x'.repeat(1800);

/** As the server tells of them: what is named there comes from systems and brokers. */
const BLOCKED = {
  id: 'blocked',
  condition: HOSTILE,
  tester: 'system',
  parameters: { system: HOSTILE },
  policy: 'constant',
  policy_parameters: { interval: UNBROKEN },
  attempts: 3,
  last_answer: HOSTILE + UNBROKEN,
  next_test: '2026-01-01T00:01:00Z',
  since: '2026-01-01T00:00:00Z',
  gives_up: null,
  jobs: 2,
};
const LEFT = {
  id: 'left',
  kind: 'dead-letter',
  exchange: HOSTILE,
  routing_key: UNBROKEN,
  reason: HOSTILE,
  length: 4096,
  at: '2026-01-01T00:00:00Z',
  body: HOSTILE + UNBROKEN,
};

/** Each reads something first. */
const SCREENS = [
  ...['', '/nodes', '/nodes/web1', '/push', '/push/none', '/push/new?q=*:*', '/queues', '/queues/resize', '/tasks'],
  ...['/tasks/none', '/balance', '/jobs', '/jobs/none', '/jobs/new', '/jobs/recovery', '/jobs/queues', '/jobs/workers'],
  ...['/jobs/messages', '/schedules', '/rules', '/runbooks', '/runbooks/none', '/approvals', '/audit', '/access'],
  ...['/access/groups', '/access/node-groups', '/access/tokens', '/access/sessions', '/me', '/servers'],
];
const OF_ORGANIZATION = /\/(?:organizations\/|cluster$|jobs\/v2|apps\/v2)/;

/** Each has an entry of the audit: more than a table shows at once. */
const QUEUES = 60;

let cluster: Cluster;
let visitor: Visit;
let page: Page;

const at = (path: string): string => `${cluster.url}/console/default${path}`;

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.startAgents({
    web1: { commands: { greet: { shell: 'echo hello' } }, labels: { role: HOSTILE, long: UNBROKEN.slice(0, 1024) } },
  });
  for (const name of ['resize', ...Array.from({ length: QUEUES }, (_, n) => `queue${n}`)]) {
    expect(await cluster.api.post('queues', { name, plugin: 'none' })).toMatchObject({ status: 201 });
  }
  visitor = await visit(cluster);
  ({ page } = visitor);
  await signIn(cluster, page);
});
afterAll(async () => {
  await visitor?.browser.close();
  await cluster?.stop();
});

/** Nothing of what is shown is more than text, and none of it makes the page wider. */
async function expectHarmless(): Promise<void> {
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  expect(await page.locator('img[src="x"], a[href*="//evil"]').count()).toBe(0);
  expect(visitor.harm).toEqual([]);
}

async function expectAccessible(): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violationsOf(page)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

describe('the console', () => {
  it('says what it is before its scripts have come', async () => {
    const early = await visitor.context.newPage();
    await early.route('**/*.js', (route) => route.abort());
    await early.goto(at('/nodes'));
    await early.getByText('Muster', { exact: true }).waitFor();
    await early.unroute('**/*.js');
    await early.reload();
    await early.getByText('live', { exact: true }).waitFor();
    expect(await early.locator('header').count()).toBe(1);
    await early.close();
    expect(visitor.harm).toEqual([]);
  });

  it('shows labels, parameters and attributes as text, whatever is in them and however long they are', async () => {
    await page.goto(at('/nodes/web1'));
    await page.getByText(SHOWN).first().waitFor();
    await expectHarmless();

    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const public_key = publicKey.export({ type: 'spki', format: 'pem' });
    expect((await cluster.api.post('nodes', { name: 'web2', public_key })).status).toBe(201);
    await page.goto(at('/nodes?group=role&compare=web1,web2'));
    await page.locator('.compared td', { hasText: SHOWN }).waitFor();
    await page.locator('.compared td', { hasText: UNBROKEN.slice(0, 1024) }).waitFor();
    await expectHarmless();
    await page.locator('.grouping .chip', { hasText: SHOWN }).click();
    await page.getByText('1 of 2').waitFor();
    await expectHarmless();
    await page.goto(at('/nodes?group=long'));
    await page.locator('.grouping .chip', { hasText: UNBROKEN.slice(0, 40) }).waitFor();
    await expectHarmless();

    const params = { [HOSTILE]: HOSTILE, file: UNBROKEN };
    const added = await cluster.api.post('queues/resize/tasks', { params });
    expect(added).toMatchObject({ status: 201 });
    await page.goto(at('/queues/resize'));
    await page.locator('.table-row', { hasText: SHOWN }).waitFor();
    await expectHarmless();
    await page.locator('.table-row').click();
    await page.locator('.facts', { hasText: UNBROKEN }).filter({ hasText: SHOWN }).waitFor();
    await expectHarmless();

    const { id } = await cluster.json<{ id: string }>(
      'push',
      'start',
      '--node',
      'web1',
      '--detach',
      '--',
      'greet',
      HOSTILE,
    );
    await cluster.json('push', 'start', '--node', 'web1', '--detach', '--', 'greet', UNBROKEN);
    await page.goto(at('/push'));
    await page.locator('.table-row', { hasText: UNBROKEN.slice(0, 30) }).waitFor();
    await page.locator('.table-row', { hasText: SHOWN }).waitFor();
    await expectHarmless();
    await page.goto(at(`/push/${id}`));
    await page.getByText(SHOWN).first().waitFor();
    await expectHarmless();

    await page.goto(at("/events?from=-1h&q=type%20=%20'x.hostile'"));
    const attributes = ['--attr', `host=${HOSTILE}`, '--attr', `<b>=${IN_EVENT}`];
    await cluster.json('event', 'publish', 'x.hostile', ...attributes, '--body', HOSTILE + IN_EVENT);
    await page.locator('.table-row', { hasText: SHOWN }).click();
    await page.locator('.side pre', { hasText: SHOWN + IN_EVENT }).waitFor();
    await expectHarmless();
  });

  it('shows what jobs wait for and what nobody took, to everybody and as text', async () => {
    for (const [path, answer] of [
      ['job-recovery', [BLOCKED]],
      ['job-recovery/blocked', { ...BLOCKED, blocked: [{ job: 'f00', message: HOSTILE + UNBROKEN }] }],
      ['job-messages', [LEFT]],
      ['job-messages/left', LEFT],
    ] as const) {
      await page.route(new RegExp(`/organizations/default/${path}(\\?.*)?$`), (route) =>
        route.fulfill({ json: answer, headers: { 'muster-position': '0' } }),
      );
    }
    for (const path of ['/jobs/recovery', '/jobs/messages']) {
      await page.goto(at(path));
      await page.locator('.table-row', { hasText: SHOWN }).click();
      await page.locator('.side', { hasText: UNBROKEN }).filter({ hasText: SHOWN }).waitFor();
      await expectHarmless();
      await expectAccessible();
    }
    await page.unrouteAll();
  });

  it('says on each screen what the server cannot do now, to everybody', async () => {
    await page.route(OF_ORGANIZATION, (route) => {
      const headers = { 'x-muster-error': 'store_unavailable', 'x-muster-fix': 'Look at the database.' };
      return route.fulfill({ status: 503, headers, json: { error: ['the database does not answer'] } });
    });
    for (const path of SCREENS) {
      await page.goto(at(path));
      await page.getByRole('alert').first().waitFor();
      const told = await page.getByRole('alert').first().innerText();
      const violations = await violationsOf(page);
      await page.setViewportSize({ width: 320, height: 640 });
      const width = await page.evaluate('document.documentElement.scrollWidth');
      await page.setViewportSize({ width: 1280, height: 900 });
      expect({ path, told, violations, width }).toEqual({
        path,
        told: expect.stringMatching(/The database does not answer\.\s+Look at the database\./),
        violations: [],
        width: 320,
      });
    }
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('shows what there is once the server answers again, without being asked', async () => {
    await page.route(OF_ORGANIZATION, (route) => route.abort());
    for (const path of ['/nodes', '/nodes/web1', '/queues']) {
      await page.goto(at(path));
      await page.getByText('The server does not answer.').waitFor();
      await page.getByText('It is tried again every few seconds.').waitFor();
      await page.unroute(OF_ORGANIZATION);
      await page.locator('.table-row, .facts').first().waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      await page.route(OF_ORGANIZATION, (route) => route.abort());
    }
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('says that there is no such event or entry where its address is opened', async () => {
    await page.goto(at('/audit?entry=999999999'));
    await page.getByText('Entry 999999999 is not among these').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.waitForURL(at('/audit'));
    await page.goto(at('/events?event=999999999'));
    await page.getByText('Event 999999999 is not among these').waitFor();
  });

  it('goes back and forward to the same filter, the same open pane and the same place', async () => {
    await page.goto(at('/audit?actor=admin'));
    await page.locator('.table-row').first().waitFor();
    await page.locator('.table-scroll').hover();
    await page.mouse.wheel(0, 800);
    const place = () => page.locator('.table-scroll').evaluate(({ scrollTop }) => scrollTop);
    await expect.poll(place).toBe(800);
    await page.locator('.table-row[aria-rowindex="25"]').click({ position: { x: 40, y: 12 } });
    await page.locator('.side').waitFor();
    const address = page.url();
    expect(new URL(address).searchParams.get('entry')).not.toBeNull();
    const navigation = page.getByRole('navigation', { name: 'Console' });
    await navigation.getByRole('link', { name: 'Audit' }).click();
    await page.locator('.side').waitFor({ state: 'detached' });
    await navigation.getByRole('link', { name: 'Runbooks' }).click();
    await page.getByRole('heading', { name: 'Runbooks' }).waitFor();
    await page.goBack();
    // From here the same table stays.
    await page.locator('.table-row').first().waitFor();
    await page.goBack();
    await page.locator('.side').waitFor();
    expect(page.url()).toBe(address);
    expect(await page.getByLabel('Who', { exact: true }).inputValue()).toBe('admin');
    await expect.poll(place).toBe(800);
    await page.goForward();
    await page.goForward();
    await page.getByRole('heading', { name: 'Runbooks' }).waitFor();
  });

  it('moves nothing for those who want it so', async () => {
    const moving = () => page.evaluate('document.getAnimations().length');
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/audit?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(at('/audit'));
    await page.locator('.waiting').waitFor();
    expect(await moving()).toBe(0);
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await expect.poll(moving).toBe(1);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await expect.poll(moving).toBe(0);
    release();
    await page.locator('.table-row').first().waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('keeps no secret in the browser but a cookie out of reach, and is left when its session is ended elsewhere', async () => {
    const kept = await page.evaluate(
      'indexedDB.databases().then((databases) => [document.cookie, { ...localStorage }, { ...sessionStorage }, databases])',
    );
    expect(kept).toEqual(['', {}, {}, []]);
    const cookies = await visitor.context.cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    const [session] = await cluster.json<readonly { id: string }[]>('session', 'list');
    await cluster.json('session', 'rm', session?.id ?? '', '--yes');
    await page.getByText('Your session has ended.').waitFor();
    const again = await page.request.get(`${cluster.url}/session`);
    expect(again.status()).toBe(401);
  });

  it('asks no other host, and keeps to its policy', () => {
    expect(visitor.harm).toEqual([]);
  });
});
