import { execFile } from 'node:child_process';
import { loadavg } from 'node:os';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { rounded } from './api.mjs';
import { MUSTER } from './server.mjs';

/** Milliseconds of work in one frame, of 95 in 100 frames with any; and of the longest task. */
const TARGET_FRAME_MS = 8;
const TARGET_TASK_MS = 50;
const FRAME_US = 1_000_000 / 60;

export function launch() {
  return chromium.launch({
    executablePath: process.env.MUSTER_TEST_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
}

/** Opens the console as the first admin. */
export async function signIn({ cliConfig }, page) {
  const env = { ...process.env, MUSTER_CONFIG: cliConfig };
  const { stdout } = await promisify(execFile)(process.execPath, [MUSTER, 'console', '--print', '--json'], { env });
  await page.goto(JSON.parse(stdout).url);
  await page.getByRole('button', { name: /^Sign in as/ }).click();
  await page.getByText('live', { exact: true }).waitFor();
}

/** Tasks of the page's main thread meanwhile: when each began and how long it took, in microseconds. */
export async function traced(browser, page, work) {
  const categories = ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'];
  await browser.startTracing(page, { categories });
  await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const mains = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const tasksOf = ({ pid, tid }) =>
    traceEvents.filter((one) => one.name === 'RunTask' && one.pid === pid && one.tid === tid && one.dur > 0);
  const all = mains.map(tasksOf).sort((a, b) => total(b) - total(a));
  if (all.length === 0 || all[0].length === 0) throw new Error('Chromium traced no task of the page');
  return all[0];
}

/** Time that the thread has worked; `dur` has what others took from it, too. */
const workOf = ({ tdur }) => tdur ?? 0;
const total = (tasks) => tasks.reduce((sum, task) => sum + workOf(task), 0);

export function* figures(figure, tasks, nodes) {
  const frames = new Map();
  for (const task of tasks) {
    const frame = Math.floor(task.ts / FRAME_US);
    frames.set(frame, (frames.get(frame) ?? 0) + workOf(task));
  }
  const work = [...frames.values()].sort((a, b) => a - b);
  const p95 = work[Math.floor(work.length * 0.95)] / 1000;
  const load = rounded(loadavg()[0]);
  yield {
    figure: `${figure}-frame`,
    value: rounded(p95),
    unit: 'ms',
    target: TARGET_FRAME_MS,
    nodes,
    frames: work.length,
    load,
  };
  yield { ...longestTask(`${figure}-task`, tasks), nodes };
}

export function longestTask(figure, tasks) {
  const worst = Math.max(...tasks.map(workOf)) / 1000;
  const above = tasks.filter((task) => workOf(task) > TARGET_TASK_MS * 1000).length;
  const elapsed_ms = rounded(Math.max(...tasks.map(({ dur }) => dur)) / 1000);
  return { figure, value: rounded(worst), unit: 'ms', target: TARGET_TASK_MS, above, elapsed_ms };
}
