import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from './support/cluster.js';
import { shoot, signIn, signInWith, violationsOf, visit } from './support/console.js';
import { offerCounting, offerGreeting, startFleetToLookAt } from './support/console-fleet.js';

/** The web console, in a browser, on a server with nodes: queues, schedules and rules, long jobs and runbooks. */

let cluster: Cluster;
let browser: Browser;
let page: Page;
let harm: readonly string[];

beforeAll(async () => {
  cluster = await startFleetToLookAt();
  ({ browser, page, harm } = await visit(cluster));
  await signIn(cluster, page);
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

describe('the console', () => {
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

    await cluster.json('task', 'add', 'resize', '--param', 'file=slow.png');
    await page.locator('.chip', { hasText: 'running' }).getByText('1').waitFor();
    await page.getByText('Nodes at work').waitFor();
    await page.getByRole('link', { name: 'web1' }).first().waitFor();
    await page.getByRole('row', { name: /slow\.png/ }).click();
    await page.locator('.output .row', { hasText: 'scaling picture slow.png' }).waitFor();
    await page.getByText('web1 runs it.').waitFor();
    const beside = await page.context().newPage();
    await beside.goto(`${cluster.url}/console/default`);
    await beside.getByRole('listitem').filter({ hasText: 'resize' }).getByText('1 left').waitFor();
    await shoot(beside, 'running-queue');
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
    await expect.poll(runs).toEqual([1, 2, 2]);
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
    await shoot(page, 'former-rows');
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
    await shoot(page, 'paused-queue');
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
    await shoot(page, 'plan');
    await page.getByRole('button', { name: 'Save' }).click();
    // The dialog, which has the same lines, is gone by then.
    await page.getByRole('button', { name: 'Change …' }).waitFor();
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
    await offerCounting(cluster);
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
    await offerGreeting(cluster);
    await page.goto(`${cluster.url}/console/default/runbooks`);
    await page.getByRole('link', { name: 'greet-web' }).click();
    await page.getByRole('button', { name: 'Run it …' }).waitFor();
    await page.getByLabel('tries').fill('9');
    await page.getByText('It must be at most 5.').waitFor();
    expect(await page.getByRole('button', { name: 'Run it …' }).getAttribute('title')).toContain('does not fit');
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
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'greet-twice waits for somebody to agree' }).click();
    const approve = page.getByRole('button', { name: 'Approve …' });
    expect(await approve.getAttribute('title')).toBe('you have asked for it yourself');
    await shoot(page, 'approval');
    const ofPane = await page.getByRole('region', { name: 'The approval' }).boundingBox();
    for (const part of [approve, page.locator('.side .badge')]) {
      const { x = 0 } = (await part.boundingBox()) ?? {};
      expect(x - (ofPane?.x ?? 0), 'from the frame').toBeGreaterThan(10);
    }
    const order = page.getByLabel('Everything that decides what would be started');
    expect(await order.evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0);
    await cluster.json('user', 'create', 'rita', '--key-out', join(cluster.dir, 'rita.pem'));
    const { token } = await cluster.json<{ token: string }>('access-token', 'create', '--user', 'rita', '--ttl', '1h');
    const theirs = await visit(cluster, browser);
    await signInWith(cluster, theirs.page, token);
    await theirs.page.goto(page.url());
    await theirs.page.getByText('It is not yours to decide. Who may: who has push:write.').waitFor();
    expect(await theirs.page.getByRole('button', { name: 'Approve …' }).count()).toBe(0);
    await shoot(theirs.page, 'approval-of-others');
    expect(theirs.harm).toEqual([]);
    await theirs.context.close();
    await page.getByRole('button', { name: 'Take it back …' }).click();
    await page.getByLabel('Why').fill('not today');
    await page.getByRole('button', { name: 'Refuse it' }).click();
    await page.getByText('not today').waitFor();
  });

  it('says which nodes have no agent, and why one is down', async () => {
    const password = join(cluster.dir, 'password');
    writeFileSync(password, 'long enough');
    await cluster.json('secret', 'set', 'box', '--from', password);
    const where = ['--host', '127.0.0.1:1', '--user', 'ops', '--host-key', `SHA256:${'A'.repeat(43)}`];
    await cluster.json('ssh-node', 'add', 'box1', ...where, '--password-secret', 'box', '--allow', 'uptime');
    await page.goto(`${cluster.url}/console/default/nodes?q=via:ssh`);
    const row = page.getByRole('row', { name: /box1\s+ssh/ });
    await row.getByText(/ECONNREFUSED/).waitFor();
    await page.getByText('1 of 4').waitFor();
    await shoot(page, 'nodes-without-agent');
    await page.goto(`${cluster.url}/console/default/nodes`);
    await page.getByRole('row', { name: /web1/ }).waitFor();
    await shoot(page, 'nodes');
    await cluster.json('ssh-node', 'rm', 'box1', '--yes');
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
    await shoot(page, 'keys');
    // A key that is pressed by mistake turns nothing off.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Close');
    await page.keyboard.press('Escape');
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

  it('asks no other host, and keeps to its policy', () => {
    expect(harm).toEqual([]);
  });
});
