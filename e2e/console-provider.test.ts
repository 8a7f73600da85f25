import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type OpenIdProvider, openIdProvider } from '../packages/platform/test/support/openid-provider.js';
import { Cluster } from './support/cluster.js';
import { type Visit, violationsOf, visit } from './support/console.js';

/** The web console, where people sign in at an OpenID provider, which is another site to their browser. */

const PLACE = '/console/default/push?status=complete';
let provider: OpenIdProvider;
let cluster: Cluster;
let first: Visit;
let page: Page;
let harm: readonly string[];

beforeAll(async () => {
  provider = await openIdProvider('localhost');
  provider.clientSecret = 'of the console: 100 %';
  cluster = await Cluster.start({ flags: ['--outbound-private-targets'] });
  const secret = join(cluster.dir, 'client.secret');
  writeFileSync(secret, `${provider.clientSecret}\n`);
  const client = ['--client-id', 'muster', '--client-secret-file', secret];
  const claims = ['--user-claim', 'preferred_username', '--create-users'];
  await cluster.json('issuer', 'create', 'work', '--oidc', provider.url, ...client, ...claims);
  const { sign_in } = await cluster.json<{ sign_in: { redirect_uri: string } }>('issuer', 'show', 'work');
  provider.redirectUris = [sign_in.redirect_uri];
  provider.person = 'asks';
  provider.claims = { sub: '4711', preferred_username: 'jdoe' };
  first = await visit(cluster);
});
afterAll(async () => {
  await first?.browser.close();
  await cluster?.stop();
  await provider?.close();
});
beforeEach(async () => {
  ({ page, harm } = await visit(cluster, first.browser));
});

/** Nothing but the way to the provider, which the person has gone. */
const unasked = () => harm.filter((what) => !what.startsWith(`asked for ${provider.url}/`));
const signInWithWork = () => page.getByRole('button', { name: 'Sign in with work' }).click();

it('leads to the provider and back to where somebody was, signed in', async () => {
  await page.goto(`${cluster.url}${PLACE}`);
  await signInWithWork();
  await page.getByRole('heading', { name: 'Provider' }).waitFor();
  await page.getByRole('link', { name: 'Agree' }).click();
  await page.getByRole('heading', { name: 'Push jobs' }).waitFor();
  expect(page.url()).toBe(`${cluster.url}${PLACE}`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Push jobs' }).waitFor();
  const sessions = await cluster.json<{ user: string; by: string }[]>('session', 'list');
  expect(sessions).toMatchObject([{ user: 'jdoe', by: 'provider' }]);
  expect(await page.context().cookies()).toMatchObject([{ name: 'muster', httpOnly: true, sameSite: 'Strict' }]);
  expect(unasked()).toEqual([]);
});

it('says what to do to whom the provider refuses, and lets them begin again', async () => {
  await page.goto(`${cluster.url}/console/`);
  await page.getByLabel('Organization').fill('default');
  await page.getByRole('button', { name: 'Continue' }).press('Enter');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Sign in with work');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Refuse' }).click();
  await page.getByRole('alert').getByText('The provider has signed nobody in').waitFor();
  expect(page.url()).toBe(`${cluster.url}/console/default`);
  expect(await violationsOf(page)).toEqual([]);
  await signInWithWork();
  await page.getByRole('link', { name: 'Agree' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goBack();
  // What was used up signs nobody out.
  await page.goto(`${cluster.url}/console/default#sign-in-failed=sign_in_expired`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(unasked()).toEqual([]);
});

it('says that a sign-in is over which another browser has begun', async () => {
  await page.goto(`${cluster.url}${PLACE}`);
  await signInWithWork();
  await page.getByRole('heading', { name: 'Provider' }).waitFor();
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Agree' }).click();
  await page.getByRole('alert').getByText('was begun in another browser').waitFor();
});

it('says that nobody signs in to an organization that there is not', async () => {
  await page.goto(`${cluster.url}/console/`);
  await page.getByLabel('Organization').fill('nowhere');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Single sign-on is not set up for nowhere').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(harm).toEqual([]);
});
