import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Cluster } from './cluster.js';

/** Nothing that a test does not ask for: no updates, no accounts, no pages in the background. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.MUSTER_TEST_CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** Where pictures of screens are laid, for whoever wants to look at them. */
const SHOTS = process.env.MUSTER_TEST_SHOTS;

/** A picture of what a page shows now, if anybody wants it. */
export async function shoot(page: Page, name: string, fullPage = false): Promise<void> {
  if (SHOTS !== undefined) await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage });
}

/** A browser of one person, whose pages are watched: `harm` is what must never be. */
export interface Visit {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  /** A request to another host, a breach of the policy, an error of a page. */
  readonly harm: readonly string[];
}

/** @param among Of another person in the same browser. @param clocked Their clock is moved by the test. */
export async function visit(cluster: Cluster, among?: Browser, clocked = false): Promise<Visit> {
  const browser = among ?? (await launchBrowser());
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(60_000);
  if (clocked) await context.clock.install();
  await context.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))",
  );
  const harm: string[] = [];
  context.on('page', (page) => {
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== cluster.url) harm.push(`asked for ${request.url()}`);
    });
    page.on('pageerror', (error) => harm.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (/policy|trusted/i.test(message.text())) harm.push(message.text());
    });
  });
  return { browser, context, page: await context.newPage(), harm };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What keeps somebody out of what a page shows, by axe-core. @param options Of axe, as JavaScript. */
export function violationsOf(page: Page, options = '{}'): Promise<string[]> {
  // In one go: a page may be loaded anew between two.
  return page.evaluate(`(() => {
    if (window.axe === undefined) { ${AXE} }
    return axe.run(document, ${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html));
  })()`);
}

/** Opens each dialog that the page offers, and closes it: what keeps somebody out of one, or makes it wider than the page. */
export async function dialogsThatKeepOut(page: Page): Promise<string[]> {
  const found: string[] = [];
  const dialog = page.locator('dialog[open]');
  // Buttons that ask something first say so.
  const labels = await page.getByRole('button', { name: / …$/, disabled: false }).allInnerTexts();
  for (const label of new Set(labels)) {
    const button = page.getByRole('button', { name: label, exact: true, disabled: false });
    // What was found once more may have gone since.
    if ((await button.count()) === 0) continue;
    await button.first().click();
    await dialog.waitFor();
    const wide = await dialog.evaluate((shown) => shown.scrollWidth > shown.clientWidth);
    found.push(...(wide ? [`${label}: wider than the page`] : []));
    found.push(...(await violationsOf(page)).map((violation) => `${label}: ${violation}`));
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
  return found;
}

/** A link that signs in once. */
export async function signInLink(cluster: Cluster): Promise<string> {
  const { url } = await cluster.json<{ url: string }>('console', '--print');
  return url;
}

export async function signIn(cluster: Cluster, page: Page): Promise<void> {
  await page.goto(await signInLink(cluster));
  await page.getByRole('button', { name: 'Sign in as admin' }).click();
  await page.getByText('live', { exact: true }).waitFor();
}

export async function signInWith(cluster: Cluster, page: Page, token: string): Promise<void> {
  await page.goto(`${cluster.url}/console/default`);
  await page.getByLabel('Or with an access token').fill(token);
  await page.getByRole('button', { name: 'Sign in with the token' }).click();
  await page.getByText('live', { exact: true }).waitFor();
}
