import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from './support/cluster.js';
import { shoot, signInLink, violationsOf, visit } from './support/console.js';
import { startFleetToLookAt } from './support/console-fleet.js';

/** The web console, in a browser, on a server with nodes: who is there, push jobs, nodes and events. */

let cluster: Cluster;
let browser: Browser;
let page: Page;
let harm: readonly string[];

beforeAll(async () => {
  cluster = await startFleetToLookAt();
  ({ browser, page, harm } = await visit(cluster));
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

describe('the console', () => {
  let job = '';

  it('signs in whoever opens a link, once, after asking, and leaves no secret in the address', async () => {
    const url = await signInLink(cluster);
    await page.goto(url);
    expect(page.url()).not.toContain('sign-in');
    expect(await page.getByRole('banner').count()).toBe(0);
    await page.getByRole('button', { name: 'Sign in as admin' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('banner').count()).toBe(1);
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

  it('shows the events of a job on its page, and leads from one to others about the same', async () => {
    await page.goto(`${cluster.url}/console/default/push/${job}`);
    await page.getByRole('navigation', { name: 'Views of the job' }).getByRole('link', { name: 'Events' }).click();
    await page.getByText(`muster event watch --from first 'job = '\\''${job}'\\'''`).waitFor();
    await page.getByRole('row', { name: /push\.job_complete/ }).click();
    const detail = page.getByLabel('The event');
    expect(await detail.getByRole('link', { name: 'Open the job' }).count()).toBe(0);
    await detail.getByRole('link', { name: 'Only this source' }).click();
    await page.getByRole('heading', { name: 'Events' }).waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toMatch(/^source = '/);
    await page
      .getByRole('row', { name: /push\.job_complete/ })
      .first()
      .click();
    await page.getByLabel('The event').getByRole('link', { name: 'Open the job' }).waitFor();
  });

  it('publishes an event, says what the server has against one, and begins wherever it is told', async () => {
    await page.goto(`${cluster.url}/console/default/events`);
    await page.getByLabel('Which events').fill("type = 'push.job_c");
    const offered = page.locator('#events-filter-words option');
    await expect.poll(() => offered.first().getAttribute('value')).toBe("type = 'push.job_complete");
    await page.getByLabel('Which events').fill('');
    await page.getByRole('button', { name: 'Publish …' }).click();
    await page.getByLabel('Type').fill('node.up');
    await page.getByRole('button', { name: 'Publish it' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Type').fill('temp.high');
    await page.getByLabel('Attributes').fill('host=db1\ncelsius=81');
    await page.getByLabel('Body').fill('<b>fan is off</b>');
    await page
      .getByText("muster event publish temp.high --attr host=db1 --attr celsius=81 --body '<b>fan is off</b>'")
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await shoot(page, 'publish');
    await page.getByRole('button', { name: 'Publish it' }).click();
    await page.getByRole('row', { name: /temp\.high/ }).click();
    const detail = page.getByLabel('The event');
    await detail.getByText('<b>fan is off</b>').waitFor();
    const position = await detail.locator('dd').first().innerText();

    await page.getByLabel('From').selectOption('a position or time …');
    await page.getByLabel('Position or time').fill('noon');
    await page.keyboard.press('Enter');
    await page.getByText('“noon” is no place to begin').waitFor();
    await page.getByLabel('Position or time').fill(String(Number(position) - 1));
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /temp\.high/ }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /temp\.high/ }).waitFor();
    expect(await page.getByLabel('Position or time').inputValue()).toBe(String(Number(position) - 1));
    await page.getByRole('img', { name: /^At most/ }).waitFor();
    await shoot(page, 'events-from');
  });

  it('counts nodes by what they tell, narrows the filter to some, and tells in what they differ', async () => {
    await page.goto(`${cluster.url}/console/default/nodes`);
    await page.getByLabel('Group by').selectOption('role');
    await page.getByRole('button', { name: 'web 2' }).waitFor();
    await page.getByRole('button', { name: 'db 1' }).click();
    await expect.poll(() => page.getByLabel('Which nodes').inputValue()).toBe("role = 'db'");
    await page.getByText('1 of 3').waitFor();
    await page.goBack();
    for (const name of ['db1', 'web1']) {
      await page
        .getByRole('row', { name: new RegExp(name) })
        .locator('[role=checkbox], input')
        .first()
        .click();
    }
    await expect.poll(() => new URL(page.url()).searchParams.get('selected')).toBe('db1,web1');
    await page.reload();
    await page.getByText('2 nodes selected').waitFor();
    await page.getByRole('button', { name: 'Remove …' }).click();
    await page.getByText('for node in db1 web1; do muster node rm "$node" --yes; done').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Compare' }).click();
    const differences = page.getByLabel('Comparison').getByRole('row', { name: 'role db web' });
    await differences.waitFor();
    await page.reload();
    await differences.waitFor();
    await page.goto(`${cluster.url}/console/default/nodes?group=colour&compare=web1,none`);
    await page.getByText('No node tells a colour').waitFor();
    await page.getByText('There is no node none.').waitFor();
  });

  it('says how one more machine is added, and that it has come', async () => {
    await page.goto(`${cluster.url}/console/default`);
    await page.getByRole('button', { name: 'Add machine …' }).click();
    await page.getByText(`| ssh web1 muster agent --server ${cluster.url} --org default --name web1`).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const public_key = publicKey.export({ type: 'spki', format: 'pem' });
    expect((await cluster.api.post('nodes', { name: 'late1', public_key })).status).toBe(201);
    await page.getByText('1 machine has come').waitFor();
    await shoot(page, 'add-machine');
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    await shoot(page, 'add-machine-narrow');
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: 'late1', exact: true }).click();
    await page.getByRole('heading', { name: 'late1' }).waitFor();
    const keys = page.locator('.card', { has: page.getByRole('heading', { name: 'Keys' }) }).locator('.lines code');
    await expect.poll(() => keys.count()).toBe(1);
    await cluster.json('node', 'add-key', 'late1', '--key-out', join(cluster.dir, 'late1.pem'));
    await expect.poll(() => keys.count()).toBe(2);
    await cluster.json('node', 'rm', 'late1', '--yes');
    await page.getByText('This node was removed.').waitFor();
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

  it('offers what nodes take, and to be content with those who can', async () => {
    await page.goto(`${cluster.url}/console/default/push/new?q=*:*`);
    await page.getByRole('button', { name: /^greet/ }).click();
    await page.getByText('Quorum: 3 of 3 must be ready; 2 can.').waitFor();
    await page.getByText(/^db1: /).waitFor();
    await page.getByRole('button', { name: 'Run anyway …' }).click();
    await page.getByRole('dialog').getByText('As it stands the job would start nowhere.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Let 2 be enough' }).click();
    await page.getByText('Quorum: 2 of 3 must be ready; 2 can.').waitFor();
    const command = page.getByText("muster push start '*:*' --quorum 2 -- greet", { exact: true });
    await command.waitFor();
    // It is in the address, for whoever loads it again, or is sent it.
    await page.reload();
    await command.waitFor();
    const typed = page.getByLabel('Command', { exact: true });
    await typed.fill('greet you');
    await page.goto(`${cluster.url}/console/default/push/new?q=role:web&command=slow`);
    await page.goBack();
    await expect.poll(() => typed.inputValue()).toBe('greet you');
    await page.getByText(/^Quorum: 2 of 3 must be ready/).waitFor();
  });

  it('says what nodes will refuse, and foresees nothing of a search that cannot be read', async () => {
    await page.goto(`${cluster.url}/console/default/push/new?q=role:web&command=sleep%201`);
    await page.getByText('2 will be asked').waitFor();
    expect(await page.getByText('may refuse').count()).toBe(0);
    await page.getByLabel('Command', { exact: true }).fill('sleep well');
    await page.getByText('2 will refuse: this command is not among those allowed there').waitFor();
    await page.getByText('must be ready; none can').waitFor();
    await shoot(page, 'preview-refused', true);
    const search = page.getByLabel('Nodes that match');
    await search.fill('role:');
    await page.getByText('What is searched for cannot be read yet.').waitFor();
    await page.getByText("muster push start SELECTOR -- 'sleep well'", { exact: true }).waitFor();
    const offered = page.locator('#where-words option');
    await expect.poll(() => offered.first().getAttribute('value')).toBe('role:web');
    await search.fill('role:none');
    await page.getByText('No node matches.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('says why a node did not run a command: on a phone, too, below the results, and in the place of its output', async () => {
    const { id } = await cluster.json<{ id: string }>('push', 'start', '*:*', '--quorum', '1', '--', 'greet');
    await page.setViewportSize({ width: 375, height: 900 });
    await page.goto(`${cluster.url}/console/default/push/${id}`);
    const row = page.getByRole('row', { name: /db1/ });
    await row.locator('.below', { hasText: 'down' }).waitFor();
    await page
      .getByRole('row', { name: /web1/ })
      .locator('.below')
      .getByText(/^took .* · \d+ B$/)
      .waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    await row.getByText('ago').waitFor();
    await row.click();
    await page.getByText('db1 did not run it: down.').waitFor();
    await page.getByRole('link', { name: 'Results' }).click();
    await page.getByText('These did not run it:').waitFor();
    await page.locator('.result', { hasText: 'unavailable' }).getByRole('link', { name: 'db1' }).waitFor();
  });

  it('lists push jobs that are complete with failures', async () => {
    await page.goto(`${cluster.url}/console/default/push`);
    await page.getByRole('row', { name: /greet/ }).first().waitFor();
    await page.getByRole('button', { name: 'with failures' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('status')).toBe('with_failures');
    await page.getByRole('row', { name: /^fail with failures/ }).waitFor();
    expect(await page.locator('.table-row').count()).toBe(1);
    await page.getByText('muster push list --status complete', { exact: true }).waitFor();
  });

  it('selects a command where the browser lets no page copy it', async () => {
    await page.goto(`${cluster.url}/console/default/nodes`);
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole('button', { name: 'Copy the command' }).last().click();
    await page.getByText('Selected').waitFor();
    expect(await page.evaluate('String(getSelection())')).toBe('muster node list');
  });

  it('says what of a page could not be read', async () => {
    await page.route('**/pushy/commands**', (route) => route.abort());
    await page.goto(`${cluster.url}/console/default/push/new`);
    await page.getByText('What nodes take could not be read: the server does not answer').waitFor();
    await page.unroute('**/pushy/commands**');
    await page.goto(`${cluster.url}/console/default/push/new?from=00000000000000000000000000000000`);
    await page.getByRole('alert').waitFor();
  });

  it('starts nothing on nodes that were not foreseen', async () => {
    await page.goto(`${cluster.url}/console/default/push/new?q=role:web&command=greet`);
    await page.getByRole('button', { name: 'Run on 2 nodes' }).waitFor();
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/jobs/preview', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel('Nodes that match').fill('*:*');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true);
    answer();
    await page.getByText('3 nodes match.').waitFor();
    await page.unroute('**/jobs/preview');
  });

  it('stays at the end of events while more come than one look shows, until somebody scrolls up', async () => {
    await page.goto(`${cluster.url}/console/default/events?from=-1h`);
    const follows = page.getByRole('button', { name: 'At the end' });
    await follows.waitFor();
    await page.locator('.table-row').nth(5).waitFor();
    const place = () => page.locator('.table-scroll').evaluate(({ scrollTop }) => scrollTop);
    await expect.poll(place).toBeGreaterThan(0);
    // Rows are there before the table goes to its end again.
    await page.evaluate(`(() => {
      const table = document.querySelector('.table-scroll');
      table.firstElementChild.style.height = '100000px';
      table.scrollTop += 1;
      return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    })()`);
    expect(await follows.count()).toBe(1);
    await page.locator('.table-scroll').hover();
    await page.mouse.wheel(0, -400);
    await page.getByRole('button', { name: 'Go to the end' }).waitFor();
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

  it('finds an old job by a part of its command', async () => {
    await page.goto(`${cluster.url}/console/default/push`);
    await page.getByLabel('Command', { exact: true }).fill('gree');
    await page.getByLabel('Command', { exact: true }).press('Enter');
    await page.getByRole('button', { name: 'Show those that begin so' }).click();
    await page.waitForURL(/command=gree\*/);
    await page.getByRole('row', { name: /greet/ }).last().click();
    await page.getByRole('link', { name: 'Output', exact: true }).click();
    await page.getByLabel('Node').selectOption('web1');
    await page.locator('.output .row', { hasText: /line$/ }).waitFor();
  });

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
    await page.locator('.note.ok', { hasText: 'You have signed out.' }).waitFor();
    expect(await page.locator('.note.warn').count()).toBe(0);
    await page.reload();
    await page.getByLabel('Or with an access token').waitFor();
  });

  it('signs in with an access token', async () => {
    const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'admin', '--ttl', '1h');
    await page.getByLabel('Or with an access token').fill(token);
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('signs out everywhere at once', async () => {
    const other = await browser.newContext();
    const elsewhere = await other.newPage();
    await elsewhere.goto(await signInLink(cluster));
    await elsewhere.getByRole('button', { name: 'Sign in as admin' }).click();
    await elsewhere.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto(`${cluster.url}/console/default/me`);
    await page.getByRole('button', { name: 'Sign out everywhere …' }).click();
    await page.getByRole('button', { name: 'Sign out 2 browsers' }).click();
    await page.getByText('You have signed out.').waitFor();
    await elsewhere.getByText('Your session has ended.').waitFor();
    await other.close();
  });

  it('asks no other host, and keeps to its policy', () => {
    expect(harm).toEqual([]);
  });
});
