import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from './support/cluster.js';

/** The web console, in a browser, on a server with nodes. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Nothing that a test does not ask for: no updates, no accounts, no pages in the background. */
const CHROMIUM = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** What a node might write to harm whoever reads it: markup, a link of terminals, a change of direction. */
const HOSTILE =
  '<img src=x onerror=document.title=1>\\033]8;;http://evil.example\\007link\\033]8;;\\007 \\033[31mred\\033[0m \\342\\200\\256';

const COMMANDS = {
  greet: { shell: `printf '${HOSTILE}\\n'; echo line; echo careful >&2` },
  fail: { shell: 'echo lock held >&2; exit 3' },
};

let cluster: Cluster;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** What must never be: a request to another host, a breach of the policy, an error of the page. */
const harm: string[] = [];

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.startAgents({
    web1: { commands: COMMANDS, labels: { role: 'web' } },
    web2: { commands: COMMANDS, labels: { role: 'web' } },
    db1: { commands: COMMANDS, labels: { role: 'db' } },
  });
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: CHROMIUM });
  context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(15_000);
  await context.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))",
  );
  page = await context.newPage();
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== cluster.url) harm.push(`asked for ${request.url()}`);
  });
  page.on('pageerror', (error) => harm.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/policy|trusted/i.test(message.text())) harm.push(message.text());
  });
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

async function link(): Promise<string> {
  const { url } = await cluster.json<{ url: string }>('console', '--print');
  return url;
}

/** What a screen has when it is there. */
const SCREENS: readonly (readonly [path: string, there: string])[] = [
  ['', '.tally strong'],
  ['/nodes', '.table-row'],
  ['/nodes?q=role:none', '.empty'],
  ['/nodes/web1', '.facts'],
  ['/push', '.table-row'],
  ['/push?command=none', '.empty'],
  ['/push/new?q=role:web&command=greet', '.verdicts'],
  ['/push/JOB', 'canvas'],
  ['/push/JOB?view=table', '.table-row'],
  ['/push/JOB?view=results', '.result'],
  ['/push/JOB?view=output&node=web1', '.output .row'],
  ['/events', '.empty'],
  ['/events?from=-1h', '.table-row'],
];

describe('the console', () => {
  let job = '';

  it('signs in whoever opens a link, once, after asking, and leaves no secret in the address', async () => {
    const url = await link();
    await page.goto(url);
    expect(page.url()).not.toContain('sign-in');
    await page.getByRole('button', { name: 'Sign in as admin' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.locator('.tally strong').first().waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe(
      '{}{}',
    );

    const other = await browser.newContext();
    const stranger = await other.newPage();
    await stranger.goto(url);
    await stranger.getByRole('alert').waitFor();
    expect(await stranger.getByRole('button', { name: /Sign in as/ }).count()).toBe(0);
    await other.close();
  });

  it('shows who would run a command, runs it, and shows what the nodes wrote, as text', async () => {
    await page.getByRole('link', { name: 'New push job' }).click();
    await page.getByLabel('Nodes that match').fill('role:web');
    await page.getByLabel('Command', { exact: true }).fill('greet');
    await page.getByText('2 nodes match.').waitFor();
    await page.getByText('Quorum: 2 of 2 must be ready; 2 can.').waitFor();
    await page.getByRole('button', { name: 'Run on 2 nodes' }).click();
    await page.waitForURL(/\/push\/[0-9a-f]{32}$/);
    job = page.url().slice(-32);
    await page.locator('.badge', { hasText: 'complete' }).waitFor();
    await page.locator('.chip', { hasText: 'succeeded' }).getByText('2').waitFor();

    await page.getByRole('link', { name: 'Results' }).click();
    await page.getByText('2 nodes in 1 group of the same result').waitFor();
    await page.getByRole('link', { name: 'Output' }).click();
    const first = page.locator('.output .row').first();
    await first.waitFor();
    expect(await first.innerText()).toContain('<img src=x onerror=document.title=1>link red ‹U+202E›');
    expect(await page.locator('.output img').count()).toBe(0);
    expect(await first.locator('.sgr-1').innerText()).toBe('red');
    await page.getByLabel('stderr').check({ force: true });
    await page.locator('.output .row', { hasText: 'careful' }).waitFor();
  });

  it('shows what happens elsewhere without being loaded again', async () => {
    await page.getByRole('link', { name: 'Overview' }).click();
    await cluster.json('push', 'start', '--node', 'db1', '--', 'fail').catch(() => undefined);
    await page.getByText('failed on 1 node').waitFor();
    await cluster.agent('db1').kill();
    await page.getByRole('link', { name: 'db1 is down' }).waitFor();
    await page.getByRole('link', { name: 'db1 is down' }).click();
    await page.getByRole('heading', { name: 'Why it takes no job' }).waitFor();
  });

  it('is worked with by keys alone', async () => {
    await page.goto(`${cluster.url}/console/default/nodes`);
    await page.locator('.table-row').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('role:web');
    await page.getByText('2 of 3').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByText('1 node selected').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'web2' }).waitFor();
    await page.goBack();
    expect(new URL(page.url()).searchParams.get('q')).toBe('role:web');
    await page.getByText('2 of 3').waitFor();
  });

  it.each(['light', 'dark'] as const)(
    'has no screen that keeps somebody out: %s, wide and narrow',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      for (const [path, there] of SCREENS) {
        const shown = `/console/default${path.replace('JOB', job)}`;
        await page.setViewportSize({ width: 1280, height: 900 });
        await page.goto(cluster.url + shown);
        await page.locator(there).first().waitFor();
        await page.evaluate(AXE);
        const violations = await page.evaluate(
          "axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))",
        );
        expect({ shown, violations }).toEqual({ shown, violations: [] });
        await page.setViewportSize({ width: 375, height: 740 });
        expect({ shown, width: await page.evaluate('document.documentElement.scrollWidth') }).toEqual({
          shown,
          width: 375,
        });
      }
      await page.setViewportSize({ width: 1280, height: 900 });
    },
  );

  it('says what is wrong with a filter, and which parameter it does not know', async () => {
    await page.goto(`${cluster.url}/console/default/events?q=${encodeURIComponent("type = '")}&colour=red`);
    await page.getByText('At character').waitFor();
    await page.getByText('knows no parameter colour').waitFor();
  });

  it('signs out, after which the cookie is good for nothing', async () => {
    await page.goto(`${cluster.url}/console/default`);
    await page.getByText('live', { exact: true }).waitFor();
    await page.locator('.menu summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    await page.reload();
    await page.getByLabel('Or with an access token').waitFor();
  });

  it('signs in with an access token', async () => {
    const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'admin', '--ttl', '1h');
    await page.getByLabel('Or with an access token').fill(token);
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('asks no other host, and keeps to its policy', () => {
    expect(harm).toEqual([]);
  });
});
