import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Cluster } from './support/cluster.js';
import { dialogsThatKeepOut, shoot, signIn, violationsOf, visit } from './support/console.js';
import { offerCounting, offerGreeting, startFleetToLookAt } from './support/console-fleet.js';
import { jobComesTo } from './support/jobs.js';
import { until } from './support/until.js';

/** Every screen of the web console, full and empty, and all that it asks, for whoever sees little, or only with a small window. */

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
/** By the word that stands for one in the address of a screen. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  cluster = await startFleetToLookAt();
  ({ browser, page, harm } = await visit(cluster));
  await furnish();
  await signIn(cluster, page);
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

/** One of everything that a screen is about, and some of it ended badly. */
async function furnish(): Promise<void> {
  const started = (...args: readonly string[]) => cluster.json<{ id: string }>(...args);
  ids.JOB = (await started('push', 'start', 'role:web', '--', 'greet')).id;
  await cluster.json('push', 'start', '--node', 'db1', '--', 'fail').catch(() => undefined);
  await cluster.agent('db1').kill();

  await cluster.json('queue', 'create', 'resize', '--plugin', 'thumbnail', '--threads', '4');
  for (const file of ['odd1.png', 'odd2.png', 'a.png'])
    ids.TASK = (await started('task', 'add', 'resize', '--param', `file=${file}`)).id;
  const taskStatus = async () => (await cluster.json<{ status: string }>('task', 'show', ids.TASK ?? '')).status;
  await until('the task to succeed', async () => (await taskStatus()) === 'succeeded');
  const plan = join(cluster.dir, 'plan.json');
  writeFileSync(plan, JSON.stringify({ max_tasks: { '* 07:00': 5, '0 07:00': 40 }, queues: [['resize']] }));
  await cluster.json('queue', 'balance', '--set', plan);
  const resizing = (file: string) => ['--queue', 'resize', '--param', `file=${file}`];
  await cluster.json('schedule', 'create', 'nightly', '--cron', '0 3 * * *', ...resizing('c.png'));
  await cluster.json('rule', 'create', 'thumbs', '--on', "type = 'file.new'", ...resizing('{path}'));
  await cluster.json('event', 'publish', 'file.new', '--attr', 'path=d.png');

  await offerCounting(cluster);
  ids.LONG = (await started('job', 'run', 'count-1.0', '--param', 'step=2')).id;
  await jobComesTo(cluster, ids.LONG, 'RUNNING');
  await cluster.json('job', 'cancel', ids.LONG);
  await jobComesTo(cluster, ids.LONG, 'STOPPED');

  await offerGreeting(cluster);
  await cluster.json('runbook', 'run', 'greet-web', '--param', 'tries=2', '--detach');
  const asked = await cluster.json<{ approval: string }>('runbook', 'run', 'greet-twice', '--param', 'tries=1');
  ids.APPROVAL = asked.approval;
  await cluster.json('approval', 'deny', ids.APPROVAL, '--reason', 'not today');
}

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
  describe('keeps nobody out, light, dark, wide and narrow, with its dialogs, of', () => {
    afterEach(async () => {
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      await page.setViewportSize({ width: 1280, height: 900 });
    });
    it.each(SCREENS)('/console/default%s', async (path, there) => {
      const shown = `/console/default${path.replace(/JOB|LONG|TASK|APPROVAL/, (word) => ids[word] ?? '')}`;
      const shot = shown.slice('/console/default'.length).replace(/[^a-z0-9]+/gi, '-');
      await page.goto(cluster.url + shown);
      await page.locator(there).first().waitFor();
      const violations = await violationsOf(page);
      await shoot(page, `${shot}-light`);
      // Nothing but colours is otherwise.
      await page.emulateMedia({ colorScheme: 'dark' });
      violations.push(...(await violationsOf(page, "{ runOnly: ['color-contrast'] }")));
      await shoot(page, `${shot}-dark`);
      await page.setViewportSize({ width: 375, height: 740 });
      const width = await page.evaluate('document.documentElement.scrollWidth');
      await shoot(page, `${shot}-narrow`);
      await page.setViewportSize({ width: 320, height: 640 });
      await page.emulateMedia({ forcedColors: 'active' });
      const narrowest = await page.evaluate('document.documentElement.scrollWidth');
      const beside = await page.evaluate(OUT_OF_REACH);
      await shoot(page, `${shot}-forced`);
      const seen = { shown, violations, width, narrowest, beside };
      expect(seen).toEqual({ shown, violations: [], width: 375, narrowest: 320, beside: [] });
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      expect(await dialogsThatKeepOut(page)).toEqual([]);
    });
  });

  it('asks no other host, and keeps to its policy', () => {
    expect(harm).toEqual([]);
  });
});
