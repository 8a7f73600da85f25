import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from './support/cluster.js';
import { dialogsThatKeepOut, signInLink, violationsOf, visit } from './support/console.js';

/** The web console, in a browser, on a server with nodes. */

/** What a node might write to harm whoever reads it: markup, a link of terminals, a change of direction. */
const HOSTILE =
  '<img src=x onerror=document.title=1>\\033]8;;http://evil.example\\007link\\033]8;;\\007 \\033[31mred\\033[0m \\342\\200\\256';

const COMMANDS = {
  greet: { shell: `printf '${HOSTILE}\\n'; echo line; echo careful >&2` },
  fail: { shell: 'echo lock held >&2; exit 3' },
};

/** Works through tasks: greets, fails on what is odd until it is told otherwise, and writes until then where it is to go on. */
const PLUGIN = `#!/bin/sh
echo "scaling picture $1"
case "$1" in
  slow*)
    while [ ! -e "$DIR/half" ]; do sleep 0.1; done; echo '::progress 50 half of it' >&3
    while [ ! -e "$DIR/go" ]; do sleep 0.1; done; echo done ;;
  odd*) echo "cannot read $1" >&2; exit 3 ;;
esac
`;

/** Where pictures of all screens are laid, for whoever wants to look at them. */
const SHOTS = process.env.MUSTER_TEST_SHOTS;

/** What could be used if it were not beside what is shown, and nothing scrolls there. */
const OUT_OF_REACH = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((element) => {
    const { left, right, width } = element.getBoundingClientRect();
    if (width <= 1 || (left >= 0 && right <= innerWidth)) return false;
    for (let over = element.parentElement; over !== null; over = over.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(over).overflowX) && over.scrollWidth > over.clientWidth) return false;
    }
    return true;
  })
  .map((element) => element.outerHTML.slice(0, 120))`;

let cluster: Cluster;
let browser: Browser;
let page: Page;
let harm: readonly string[];

beforeAll(async () => {
  cluster = await Cluster.start();
  const program = join(cluster.dir, 'thumbnail.sh');
  writeFileSync(program, PLUGIN.replaceAll('$DIR', cluster.dir));
  chmodSync(program, 0o755);
  const tasks = { max: 4, plugins: { thumbnail: { program, args: ['{file}'] } } };
  await cluster.startAgents({
    web1: { commands: COMMANDS, labels: { role: 'web' }, tasks },
    web2: { commands: COMMANDS, labels: { role: 'web' } },
    db1: { commands: COMMANDS, labels: { role: 'db' } },
  });
  ({ browser, page, harm } = await visit(cluster));
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

/** Each with what it has when it is there. */
const SCREENS: readonly (readonly [path: string, there: string])[] = [
  ['', '.tally strong'],
  ['/nodes', '.table-row'],
  ['/nodes?q=role:none', '.empty'],
  ['/nodes?group=role&selected=web1,web2', '.selected'],
  ['/nodes?compare=web1,web2,db1', '.compared td'],
  ['/nodes/web1', '.facts'],
  ['/push', '.table-row'],
  ['/push?command=none', '.empty'],
  ['/push/new?q=role:web&command=greet', '.verdicts'],
  ['/push/JOB', '.table-row'],
  ['/push/JOB?view=grid', 'canvas'],
  ['/push/JOB?view=results', '.result'],
  ['/push/JOB?view=output&node=web1', '.output .row'],
  ['/push/JOB?view=events', '.table-row'],
  ['/jobs', '.table-row'],
  ['/jobs?q=owner:nobody', '.empty'],
  ['/jobs/new', '.form'],
  ['/jobs/LONG', '.phases'],
  ['/jobs/LONG?view=outputs', '.lines'],
  ['/jobs/LONG?view=events', '.table-row'],
  ['/jobs/LONG?view=request', '.facts'],
  ['/jobs/LONG?view=sharing', '.lines'],
  ['/jobs/recovery', '.empty'],
  ['/jobs/queues', '.lines'],
  ['/jobs/workers', '.lines'],
  ['/jobs/messages', '.empty'],
  ['/servers', '.empty'],
  ['/queues', '.table-row'],
  ['/queues?q=none', '.empty'],
  ['/queues/resize', '.table-row'],
  ['/queues/resize?status=failed', '.table-row'],
  ['/queues/none', '.note.bad'],
  ['/tasks?q=params.file%20LIKE%20%27odd%25%27', '.table-row'],
  ['/tasks?q=status:held', '.empty'],
  ['/tasks/TASK', '.output .row'],
  ['/balance', '.two'],
  ['/schedules', '.table-row'],
  ['/schedules?schedule=nightly', '.side .facts'],
  ['/rules', '.table-row'],
  ['/rules?rule=thumbs', '.side .facts'],
  ['/runbooks', '.table-row'],
  ['/runbooks?q=none', '.empty'],
  ['/runbooks/greet-web', '.form'],
  ['/approvals', '.empty'],
  ['/approvals?status=denied&open=APPROVAL', '.side .facts'],
  ['/audit', '.table-row'],
  ['/audit?actor=nobody', '.empty'],
  ['/access?open=user%3Aadmin&who=admin&node=web1', '.side .facts'],
  ['/access/groups', '.lines'],
  ['/access/node-groups', '.empty'],
  ['/access/tokens', '.empty'],
  ['/access/tokens?all=true', '.lines'],
  ['/access/sessions', '.lines'],
  ['/me', '.facts'],
  ['/events', '.table-row'],
  ["/events?q=type%20=%20'none'", '.empty'],
  ['/events?from=-1h', '.table-row'],
];

describe('the console', () => {
  let job = '';
  let long = '';
  let task = '';
  let approval = '';

  it('signs in whoever opens a link, once, after asking, and leaves no secret in the address', async () => {
    const url = await signInLink(cluster);
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
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/publish.png` });
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
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/events-from.png` });
  });

  it('counts nodes by what they tell, narrows the filter to some, and tells in what they differ', async () => {
    await page.goto(`${cluster.url}/console/default/nodes`);
    await page.getByLabel('Group by').selectOption('role');
    await page.getByRole('button', { name: 'web 2' }).waitFor();
    await page.getByRole('button', { name: 'db 1' }).click();
    expect(await page.getByLabel('Which nodes').inputValue()).toBe("role = 'db'");
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
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/add-machine.png` });
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/add-machine-narrow.png` });
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
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/preview-refused.png`, fullPage: true });
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

  it('shows a queue from its first task on, and tells of one what it wrote', async () => {
    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Queues' }).click();
    await page.getByText('No queue yet').waitFor();
    await cluster.json('queue', 'create', 'resize', '--plugin', 'thumbnail', '--threads', '4');
    await page.getByRole('row', { name: /resize/ }).click();
    await page.getByText('No task yet').waitFor();
    const lines = ['a.png', 'odd1.png', 'odd2.png', 'odd3.png', 'b.png'].map((file, n) => ({ file, n }));
    const from = join(cluster.dir, 'tasks.jsonl');
    writeFileSync(from, lines.map((line) => JSON.stringify(line)).join('\n'));
    await cluster.json('task', 'add', 'resize', '--from', from);
    await page.locator('.chip', { hasText: 'failed' }).getByText('3').waitFor();
    await page.locator('.chip', { hasText: 'succeeded' }).getByText('2').waitFor();

    const slow = await cluster.json<{ id: string }>('task', 'add', 'resize', '--param', 'file=slow.png');
    task = slow.id;
    await page.locator('.chip', { hasText: 'running' }).getByText('1').waitFor();
    await page.getByText('Nodes at work').waitFor();
    await page.getByRole('link', { name: 'web1' }).first().waitFor();
    await page.getByRole('row', { name: /slow\.png/ }).click();
    await page.locator('.output .row', { hasText: 'scaling picture slow.png' }).waitFor();
    await page.getByText('web1 runs it.').waitFor();
    const beside = await page.context().newPage();
    await beside.goto(`${cluster.url}/console/default`);
    await beside.getByRole('listitem').filter({ hasText: 'resize' }).getByText('1 left').waitFor();
    if (SHOTS !== undefined) await beside.screenshot({ path: `${SHOTS}/running-queue.png` });
    await beside.close();
    writeFileSync(join(cluster.dir, 'half'), '');
    await page.getByText('half of it').waitFor();
    await page.getByText('50 %').waitFor();
    writeFileSync(join(cluster.dir, 'go'), '');
    await page.locator('.badge', { hasText: 'succeeded' }).waitFor();
    await page.locator('.output .row', { hasText: 'done' }).waitFor();
  });

  it('acts on all tasks that match, once they were counted, and on nothing else', async () => {
    await page.goto(`${cluster.url}/console/default/queues/resize?status=failed&q=params.n%20%3E%201`);
    await page.locator('.table-row').nth(1).waitFor();
    expect(await page.locator('.table-row').count()).toBe(2);
    expect(await page.getByRole('button', { name: 'Release …' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Retry …' }).click();
    await page.getByRole('heading', { name: 'Retry 2 tasks?' }).waitFor();
    await page.getByText("muster task retry --queue resize --where 'status:failed AND (params.n > 1)'").waitFor();
    await page.getByRole('button', { name: 'Retry 2 tasks' }).click();
    await page.getByText('2 tasks queued again').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    const runs = async () => {
      const found = await cluster.json<readonly { attempt: number }[]>('task', 'list', 'status:failed');
      return found.map(({ attempt }) => attempt).sort();
    };
    await expect.poll(runs, { timeout: 60_000 }).toEqual([1, 2, 2]);
  });

  it('keeps what the last filter found while one means nothing, and says what would', async () => {
    await page.goto(`${cluster.url}/console/default/tasks`);
    await page.getByRole('row', { name: /odd1\.png/ }).waitFor();
    const filter = page.getByLabel('Which tasks');
    await filter.fill('odd1.png');
    await page.getByRole('alert').getByText('a word alone means nothing here').waitFor();
    await page
      .locator('.former')
      .getByRole('row', { name: /slow\.png/ })
      .waitFor();
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/former-rows.png` });
    await page.getByRole('button', { name: 'params.file:"odd1.png"' }).click();
    await page.getByText('1 task shown').waitFor();
    expect(await filter.inputValue()).toBe('params.file:"odd1.png"');
    expect(await page.locator('.former').count()).toBe(0);
  });

  it('pauses a queue, says why nothing is started, and lets it go on', async () => {
    await page.goto(`${cluster.url}/console/default/queues/resize`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge', { hasText: 'paused' }).waitFor();
    await cluster.json('task', 'add', 'resize', '--param', 'file=later.png');
    await page.getByText('The queue is paused').waitFor();
    await page.getByRole('button', { name: 'Limits …' }).click();
    await page.getByLabel('Threads').fill('7');
    await page.getByText('muster queue set resize --threads 7').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('0 of 7').waitFor();
    await page.getByLabel('Limit', { exact: true }).fill('six');
    await page.getByText('a whole number').waitFor();
    await page.getByLabel('Limit', { exact: true }).fill('6');
    await page.getByText('muster queue set resize --threads 6').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('0 of 6').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge', { hasText: 'open' }).waitFor();
    await page.locator('.chip', { hasText: 'succeeded' }).getByText('4').waitFor();
  });

  it('lets a queue that is paused go on from where it says so', async () => {
    await cluster.json('queue', 'pause', 'resize');
    await cluster.json('task', 'add', 'resize', '--param', 'file=held.png');
    await page.goto(`${cluster.url}/console/default`);
    const paused = page.getByRole('listitem').filter({ hasText: 'resize is paused' });
    await paused.getByText('1 task waits').waitFor();
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/paused-queue.png` });
    await paused.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => paused.count()).toBe(0);
    expect(await cluster.json('queue', 'show', 'resize')).toMatchObject({ state: 'open' });
  });

  it('says how threads are shared out, and lets it be changed', async () => {
    await page.goto(`${cluster.url}/console/default/balance`);
    await page.getByText('No plan yet').waitFor();
    await page.getByRole('button', { name: 'Make a plan …' }).click();
    expect(await page.getByLabel('Queues, those first that come first').inputValue()).toBe('resize');
    await page.getByLabel('Tasks at most').fill('someday 07:00 5');
    await page.getByText('Line 1 must be such as').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByLabel('Tasks at most').fill('every day 07:00 5\nSunday 07:00 40');
    await page.getByText('muster queue balance --set plan.json').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/plan.png` });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Sunday 07:00').waitFor();
    expect(await cluster.json('queue', 'balance')).toMatchObject({
      max_tasks: { '* 07:00': 5, '0 07:00': 40 },
      queues: [['resize']],
    });
    await page.getByRole('button', { name: 'Change …' }).click();
    expect(await page.getByLabel('Tasks at most').inputValue()).toBe('every day 07:00 5\nSunday 07:00 40');
    await page.keyboard.press('Escape');
  });

  it('shows schedules and rules, what they have started, and runs and pauses a schedule', async () => {
    await page.goto(`${cluster.url}/console/default/schedules`);
    await page.getByText('No schedule yet').waitFor();
    const nightly = ['--cron', '0 3 * * *', '--queue', 'resize', '--param', 'file=c.png'];
    await cluster.json('schedule', 'create', 'nightly', ...nightly);
    await page.getByRole('row', { name: /nightly/ }).click();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/tasks\/[0-9a-f]{24}$/);
    await page.locator('.badge', { hasText: 'succeeded' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge', { hasText: 'paused' }).waitFor();
    await page.getByText('muster schedule resume nightly').waitFor();
    expect(await page.getByRole('button', { name: /^Resume/ }).getAttribute('title')).toContain('signed request');

    await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Rules' }).click();
    await page.getByText('No rule yet').waitFor();
    const on = ['--on', "type = 'file.new'", '--queue', 'resize', '--param', 'file={path}'];
    await cluster.json('rule', 'create', 'thumbs', ...on);
    await page.getByRole('row', { name: /thumbs/ }).click();
    await cluster.json('event', 'publish', 'file.new', '--attr', 'path=d.png');
    await page.locator('.side').getByText('started', { exact: true }).waitFor();
    await page.locator('.side').getByRole('link', { name: 'task', exact: true }).click();
    await page.locator('.output .row', { hasText: 'scaling picture d.png' }).waitFor();

    await page.goBack();
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.getByText('muster rule set thumbs --off', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Switch it off' }).click();
    await page.locator('.badge', { hasText: 'off' }).waitFor();
    expect(await cluster.json('rule', 'show', 'thumbs')).toMatchObject({ enabled: false });
    // What acts for somebody from now on takes their key.
    expect(await page.getByRole('button', { name: /^Switch on/ }).getAttribute('title')).toContain('signed request');
    await cluster.json('rule', 'set', 'thumbs', '--enable');
    await page.locator('.badge', { hasText: 'on' }).waitFor();
  });

  it('follows what a long job writes, says what it waits for, lets it be tried at once, and cancels it', async () => {
    const root = join(cluster.dir, 'jobs');
    mkdirSync(root);
    await cluster.json('system', 'create', 'here', '--type', 'local', '--root', root, '--default');
    const app = join(cluster.dir, 'count.json');
    const command = ['sh', '-c', 'i=0; while sleep 0.2; do i=$((i+$step)); echo line $i; done'];
    const parameters = [{ id: 'step', value: { type: 'number', required: true } }];
    writeFileSync(app, JSON.stringify({ name: 'count', version: '1.0', command, parameters }));
    await cluster.json('app', 'create', '--file', app);
    await page.goto(`${cluster.url}/console/default/jobs`);
    await page.getByRole('heading', { name: 'No job yet' }).waitFor();
    await page.getByRole('link', { name: 'New long job' }).click();
    await page.getByLabel('step').fill('x');
    await page.getByText('It must be a number.').waitFor();
    expect(await page.getByRole('button', { name: /^Submit the job/ }).getAttribute('title')).toContain('step');
    await page.getByLabel('step').fill('2');
    await page.getByLabel('Name').fill('endless');
    await page.getByText('muster job run count-1.0 --name endless --param step=2', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Submit the job' }).click();
    await page.getByRole('heading', { name: 'endless' }).waitFor();
    long = page.url().split('/').at(-1) ?? '';
    await page.locator('.badge', { hasText: 'running' }).waitFor();
    expect(await page.locator('.phases [aria-current=step]').innerText()).toContain('running');
    await page.getByRole('link', { name: 'Outputs' }).click();
    await page.getByText('In its work directory').waitFor();
    expect(await page.getByRole('button', { name: '.muster-wrapper' }).count()).toBe(0);
    await page.getByRole('button', { name: /^Show all \(\d+ hidden\)/ }).click();
    await page.getByRole('button', { name: '.muster-wrapper' }).waitFor();
    await page.getByRole('button', { name: /\.out$/ }).click();
    const lines = page.locator('.output-bar', { hasText: 'followed' });
    await page.locator('.output .row', { hasText: 'line 2' }).first().waitFor();
    const before = Number.parseInt(await lines.getByText('lines').innerText(), 10);
    await expect
      .poll(async () => Number.parseInt(await lines.getByText('lines').innerText(), 10))
      .toBeGreaterThan(before);

    const beside = await page.context().newPage();
    await beside.goto(`${cluster.url}/console/default`);
    await beside.getByRole('listitem').filter({ hasText: 'endless' }).getByText('running').waitFor();
    await beside.goto(`${cluster.url}/console/default/jobs/recovery`);
    await beside.getByRole('heading', { name: 'No job is blocked' }).waitFor();
    await cluster.json('system', 'disable', 'here');
    await page.locator('.badge', { hasText: 'blocked' }).waitFor();
    await page.getByText('It is blocked because a system that it needs is disabled').waitFor();
    await beside.locator('.table-row').waitFor();
    await cluster.json('system', 'enable', 'here');
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByRole('button', { name: 'Test it now' }).click();
    await page.locator('.badge', { hasText: 'running' }).waitFor();
    await beside.getByRole('heading', { name: 'No job is blocked' }).waitFor();
    await beside.close();

    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.locator('.badge', { hasText: 'stopped' }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel' }).getAttribute('title')).toBe(
      'it has ended: it is stopped',
    );
    await page.getByRole('link', { name: 'Overview' }).click();
    const last = page.locator('.card', { has: page.getByRole('heading', { name: 'Ended last' }) });
    await last.getByRole('listitem').filter({ hasText: 'endless' }).getByText('stopped').waitFor();
  });

  it('runs a runbook with its parameters, seen before, and refuses one that waits for a second person', async () => {
    const greet = join(cluster.dir, 'greet.yaml');
    const definition = `description: Greets\ncommand: [greet, "{{tries}}"]\nsearch: role:web\nparameters:\n  tries: { type: number, min: 1, max: 5 }\n`;
    writeFileSync(greet, definition);
    await cluster.json('runbook', 'create', 'greet-web', '-f', greet);
    writeFileSync(greet, `${definition}approval: {}\n`);
    await cluster.json('runbook', 'create', 'greet-twice', '-f', greet);
    await page.goto(`${cluster.url}/console/default/runbooks`);
    await page.getByRole('link', { name: 'greet-web' }).click();
    await page.getByLabel('tries').fill('9');
    await page.getByText('It must be at most 5.').waitFor();
    expect(await page.getByRole('button', { name: /^Run on/ }).getAttribute('title')).toContain('does not fit');
    await page.getByLabel('tries').fill('2');
    await page.getByText('greet 2', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Run on 2 nodes …' }).click();
    await page.getByRole('button', { name: 'Run on 2 nodes', exact: true }).click();
    await page.waitForURL(/\/push\/[0-9a-f]{32}$/);

    await page.goto(`${cluster.url}/console/default/runbooks/greet-twice`);
    await page.getByLabel('tries').fill('1');
    await page.getByRole('button', { name: 'Ask for approval …' }).click();
    await page.getByRole('button', { name: 'Ask for it' }).click();
    await page.waitForURL(/\/approvals\?open=/);
    approval = new URL(page.url()).searchParams.get('open') ?? '';
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'greet-twice waits for somebody to agree' }).click();
    const approve = page.getByRole('button', { name: 'Approve …' });
    expect(await approve.getAttribute('title')).toBe('you have asked for it yourself');
    await page.getByRole('button', { name: 'Take it back …' }).click();
    await page.getByLabel('Why').fill('not today');
    await page.getByRole('button', { name: 'Refuse it' }).click();
    await page.getByText('not today').waitFor();
  });

  it('says who did what and leads there, and who may run commands on a node', async () => {
    await page.goto(`${cluster.url}/console/default/audit?action=runbook.create`);
    await page.getByText('2 entries').waitFor();
    await page.getByLabel('Which entries').fill("target = 'greet-web'");
    await page.getByText('1 entry').waitFor();
    await page.locator('.table-row').getByText('runbook.create').click();
    await page.getByRole('link', { name: 'Open what it is about' }).click();
    await page.getByRole('heading', { name: 'greet-web' }).waitFor();
    await page.goto(`${cluster.url}/console/default/audit`);
    await page.getByLabel('Action').fill('push.start');
    await page.getByRole('row').getByRole('link', { name: 'greet 2' }).click();
    await page.getByRole('heading', { name: 'greet 2' }).waitFor();

    await page.goto(`${cluster.url}/console/default/access`);
    await page.getByLabel('May', { exact: true }).fill('admin');
    await page.getByLabel('run commands on').fill('web1');
    await page.getByText('admin may run commands on web1: by “run on all” (push:write)').waitFor();
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

  it('goes anywhere by a part of its name', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'A screen, node, job, queue or runbook' }).fill('greet-w');
    await page.getByRole('option', { name: 'greet-web' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'greet-web' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'A screen, node, job, queue or runbook' }).fill('web2');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'web2' }).waitFor();
    await page.keyboard.press('?');
    await page.getByText('Go to a screen, node, job, queue or runbook').waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: /^q Task queues$/ })
      .waitFor();
    if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/keys.png` });
    // A key that is pressed by mistake turns nothing off.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Close');
    await page.keyboard.press('Escape');
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

  describe('keeps nobody out, light, dark, wide and narrow, with its dialogs, of', () => {
    afterEach(async () => {
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      await page.setViewportSize({ width: 1280, height: 900 });
    });
    it.each(SCREENS)('/console/default%s', async (path, there) => {
      const shown = `/console/default${path.replace('JOB', job).replace('LONG', long).replace('TASK', task).replace('APPROVAL', approval)}`;
      const shot = `${SHOTS}/${shown.slice('/console/default'.length).replace(/[^a-z0-9]+/gi, '-')}`;
      await page.goto(cluster.url + shown);
      await page.locator(there).first().waitFor();
      const violations = await violationsOf(page);
      if (SHOTS !== undefined) await page.screenshot({ path: `${shot}-light.png` });
      // Nothing but colours is otherwise.
      await page.emulateMedia({ colorScheme: 'dark' });
      violations.push(...(await violationsOf(page, "{ runOnly: ['color-contrast'] }")));
      if (SHOTS !== undefined) await page.screenshot({ path: `${shot}-dark.png` });
      await page.setViewportSize({ width: 375, height: 740 });
      const width = await page.evaluate('document.documentElement.scrollWidth');
      if (SHOTS !== undefined) await page.screenshot({ path: `${shot}-narrow.png` });
      await page.setViewportSize({ width: 320, height: 640 });
      await page.emulateMedia({ forcedColors: 'active' });
      const narrowest = await page.evaluate('document.documentElement.scrollWidth');
      const beside = await page.evaluate(OUT_OF_REACH);
      if (SHOTS !== undefined) await page.screenshot({ path: `${shot}-forced.png` });
      const seen = { shown, violations, width, narrowest, beside };
      expect(seen).toEqual({ shown, violations: [], width: 375, narrowest: 320, beside: [] });
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      expect(await dialogsThatKeepOut(page)).toEqual([]);
    });
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

  it('adds a task to a queue, and deletes a runbook', async () => {
    await page.goto(`${cluster.url}/console/default/queues/resize`);
    await page.getByRole('button', { name: 'Add a task …' }).click();
    await page.getByLabel('Parameters').fill('file=new.png\nwidth');
    await page.getByText('Line 2 must be name=value.').waitFor();
    expect(await page.getByRole('button', { name: 'Add the task' }).isDisabled()).toBe(true);
    await page.getByLabel('Parameters').fill('file=new.png\nwidth=200');
    await page.getByText('muster task add resize --param file=new.png --param width=200', { exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add the task' }).click();
    await page.waitForURL(/\/tasks\/[0-9a-f]{24}$/);
    await page.locator('.output .row', { hasText: 'scaling picture new.png' }).waitFor();
    const id = page.url().split('/').at(-1) ?? '';
    expect(await cluster.json('task', 'show', id)).toMatchObject({ params: { file: 'new.png', width: 200 } });

    await page.goto(`${cluster.url}/console/default/runbooks/greet-twice`);
    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByText('muster runbook rm greet-twice', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete the runbook' }).click();
    await page.waitForURL(/\/runbooks$/);
    await page.getByRole('row', { name: /greet-web/ }).waitFor();
    await expect.poll(() => page.getByRole('row', { name: /greet-twice/ }).count()).toBe(0);
    await page.goto(`${cluster.url}/console/default/runbooks/greet-twice`);
    await page.getByRole('link', { name: 'All runbooks' }).waitFor();
  });

  it('says what is wrong with a filter, and which parameter it does not know', async () => {
    await page.goto(`${cluster.url}/console/default/events?q=${encodeURIComponent("type = '")}&colour=red`);
    await page.getByText('At character').waitFor();
    await page.getByText('knows no parameter colour').waitFor();
  });

  it.each(['/nodes', '/jobs', '/tasks', '/audit', '/events?from=-1h'])(
    'greys the rows of %s while its filter cannot be read',
    async (path) => {
      await page.goto(`${cluster.url}/console/default${path}`);
      const cell = page.locator('.table-row > :last-child').first();
      const opacity = () => cell.evaluate((shown) => getComputedStyle(shown).opacity);
      expect(await opacity()).toBe('1');
      await page.keyboard.press('/');
      await page.keyboard.type("owner = '");
      await expect.poll(opacity).toBe('0.5');
    },
  );

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
