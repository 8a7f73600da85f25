import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PEOPLE, passwordOf, type Slapd, startSlapd } from '../packages/platform/test/support/slapd.js';
import { Cluster } from './support/cluster.js';
import { launchBrowser } from './support/console.js';

/** The web console, where people sign in with their password at a real OpenLDAP. */

let slapd: Slapd;
let cluster: Cluster;
let browser: Browser;

beforeAll(async () => {
  slapd = await startSlapd({ jdoe: [] });
  cluster = await Cluster.start({ flags: ['--outbound-private-targets'] });
  writeFileSync(join(cluster.dir, 'bind.pw'), slapd.bindPassword);
  writeFileSync(join(cluster.dir, 'ca.pem'), slapd.ca);
  for (const name of ['staff', 'other']) {
    const place = ['--ldap', slapd.url, '--ldap-ca', 'ca.pem', '--bind-dn', slapd.bindDn];
    const more = ['--bind-password-file', 'bind.pw', '--user-base', PEOPLE, '--create-users'];
    await cluster.json('issuer', 'create', name, ...place, ...more);
  }
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
  await slapd?.remove();
});

it('is told what is wrong, says at which directory, and is in', async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(15_000);
  const sign = async (password: string): Promise<void> => {
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in with the password' }).click();
  };
  await page.goto(`${cluster.url}/console/`);
  await page.getByLabel('Organization').fill('default');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Name').fill('jdoe');
  await page.getByLabel('Directory').selectOption('staff');
  await sign('wrong');
  await page.getByText('the name or the password is wrong').waitFor();
  expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
  await sign(passwordOf('jdoe'));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const sessions = await cluster.json<{ user: string; by: string }[]>('session', 'list');
  expect(sessions).toMatchObject([{ user: 'jdoe', by: 'password' }]);
});
