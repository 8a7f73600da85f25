/**
 * npm run screenshots [-- DIR]: docs/console/*.webp, the screens of the console as they are on the demo, which is started for it and stopped.
 * Takes Debian's Chromium.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch } from '../../bench/browser.mjs';

const MUSTER = new URL('../../packages/cli/bin/muster.js', import.meta.url).pathname;
const OUT = resolve(process.argv[2] ?? new URL('../../docs/console/', import.meta.url).pathname);
const QUALITY = 82;
const MOST_BYTES = 150_000;

const { running, jobs, longJob } = JSON.parse(execFileSync(MUSTER, ['demo', '--keep', '--json'], { encoding: 'utf8' }));
const [, checked] = jobs;

/** Name of the picture, the screen, what is there when it is all there, and in which colours. */
const PICTURES = [
  ['overview', '', '.tally strong'],
  ['new-push-job', '/push/new?q=env:demo&command=check-disk', '.verdicts'],
  ['push-job', `/push/${checked.id}?view=results`, '.result'],
  ['queue', '/queues/resize', '.table-row'],
  ['job', `/jobs/${longJob.id}`, '.phases'],
  ['events', '/events?from=first&q=type+LIKE+%27push.%25%27', '.table-row', 'dark'],
];

const browser = await launch();
try {
  mkdirSync(OUT, { recursive: true });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await page.goto(running.console);
  await page.getByRole('button', { name: /^Sign in as/ }).click();
  await page.getByText('live', { exact: true }).waitFor();
  for (const [name, path, there, colorScheme = 'light'] of PICTURES) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${running.url}/console/default${path}`);
    await page.getByText('live', { exact: true }).waitFor();
    await page.locator(there).first().waitFor();
    await page.waitForLoadState('networkidle');
    const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
    const file = join(OUT, `${name}.webp`);
    writeFileSync(file, Buffer.from(data, 'base64'));
    const { size } = statSync(file);
    if (size > MOST_BYTES) throw new Error(`${file} has ${size} bytes, and ${MOST_BYTES} are enough`);
    console.log(`${file} ${Math.round(size / 1000)} KB`);
  }
} finally {
  await browser.close();
  execFileSync('sh', [running.stop]);
}
