import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { EventClient } from '../../platform/test/support/event-client.js';
import { MailServer } from '../../platform/test/support/mail-server.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Notifications as mail, from what happens to the mail server that gets them. */

const ORG = '/organizations/default';
const FAILED = "type = 'push.job_complete' AND status <> 'complete'";

const mail = new MailServer();
let server: TestServer;
beforeAll(async () => {
  const url = await mail.start();
  server = await startTestServer({ flags: { 'outbound-smtp-url': url, 'outbound-mail-from': 'muster@example.org' } });
});
beforeEach(() => {
  mail.mails.length = 0;
});
afterAll(async () => {
  await server.stop();
  await mail.stop();
});

const create = (name: string, on: string, to = 'anna@example.org') =>
  server.api.post(`${ORG}/notifications`, { name, on, to });

/** The value of a header that is there once. */
function headerOf({ headers }: { readonly headers: readonly string[] }, name: string): string | undefined {
  const values = headers.filter((one) => one.toLowerCase().startsWith(`${name.toLowerCase()}: `));
  expect(values).toHaveLength(1);
  return values[0]?.slice(name.length + 2);
}

test('a push job that fails is told by mail, once, with what happened', async () => {
  expect(await create('failed-jobs', FAILED)).toMatchObject({ status: 201, body: { only_logged: false } });
  const { body } = await server.api.post(`${ORG}/pushy/jobs`, { command: 'true', nodes: ['nobody'] });
  const { id } = body as { id: string };
  await expect.poll(() => mail.mails).toHaveLength(1);
  const [got = { from: '', to: [], headers: [], text: '' }] = mail.mails;
  expect([got.from, got.to]).toEqual(['muster@example.org', ['anna@example.org']]);
  expect(headerOf(got, 'From')).toBe('muster@example.org');
  expect(headerOf(got, 'To')).toBe('anna@example.org');
  expect(headerOf(got, 'Subject')).toBe('[default] failed-jobs: push.job_complete');
  expect(Date.parse(headerOf(got, 'Date') ?? '')).not.toBeNaN();
  expect(headerOf(got, 'Message-ID')).toMatch(/^<\S+@example\.org>$/);

  const [title, , ...rest] = got.text.split('\n');
  expect(title).toBe('[default] failed-jobs: push.job_complete');
  expect(JSON.parse(rest.join('\n'))).toMatchObject({
    type: 'push.job_complete',
    data: { organization: 'default', source_kind: 'server', attributes: { job: id, status: 'quorum_failed' } },
  });
  const deliveries = () => server.api.get(`${ORG}/notifications/failed-jobs/deliveries`);
  await expect.poll(async () => (await deliveries()).body).toMatchObject([{ outcome: 'delivered', attempts: 1 }]);
  expect(mail.mails).toHaveLength(1);
});

test.each([
  ['550 no such user', { outcome: 'given_up', next_attempt: null }],
  ['451 try later', { outcome: 'waiting', next_attempt: expect.any(String) }],
])('mail that is refused with %s', async (refusal, outcome) => {
  const name = `refused-${refusal.slice(0, 3)}`;
  expect(await create(name, "type = 'no.such'")).toMatchObject({ status: 201 });
  mail.refusal = refusal;
  try {
    expect((await server.api.post(`${ORG}/notifications/${name}/test`, {})).status).toBe(202);
    const told = { ...outcome, attempts: 1, detail: expect.stringContaining(refusal) };
    await expect
      .poll(async () => (await server.api.get(`${ORG}/notifications/${name}/deliveries`)).body)
      .toMatchObject([told]);
  } finally {
    mail.refusal = null;
  }
});

test('a server without a mail server says that mail is only logged, and of no mail that it was delivered', async () => {
  const silent = await startTestServer();
  try {
    const { api } = silent;
    const made = await api.post(`${ORG}/notifications`, { name: 'dba', on: FAILED, to: 'dba@example.org' });
    expect(made).toMatchObject({ status: 201, body: { only_logged: true } });
    const hook = await api.post(`${ORG}/notifications`, { name: 'hook', on: FAILED, to: 'https://hook.example.org/' });
    expect(hook).toMatchObject({ status: 201, body: { only_logged: false } });
    expect(await api.post(`${ORG}/notifications/dba/test`, {})).toMatchObject({
      status: 202,
      body: { only_logged: true },
    });
    const detail = expect.stringContaining('outbound.smtp_url');
    await expect
      .poll(async () => (await api.get(`${ORG}/notifications/dba/deliveries`)).body)
      .toMatchObject([{ outcome: 'logged', attempts: 1, next_attempt: null, detail }]);
  } finally {
    await silent.stop();
  }
});

test('what somebody else says in an event gives a mail no headers, no readers and no end', async () => {
  await create('hostile', "type = 'hostile.told'");
  const { token } = (await server.api.post('/access_tokens', { user: 'admin' })).body as { token: string };
  const { stomp } = (await server.api.get(`${ORG}/events`)).body as { stomp: string };
  const client = await EventClient.login(stomp, 'default/admin', token);
  const text = 'x\r\nBcc: eve@example.org\r\n\r\n.\r\nRCPT TO:<eve@example.org>\r\n.\r\n';
  await client.publish('hostile.told', [['note', text]], `.\r\n${text}`);
  await expect.poll(() => mail.mails).toHaveLength(1);
  const [got = { from: '', to: [], headers: [], text: '' }] = mail.mails;
  expect(got.to).toEqual(['anna@example.org']);
  expect(headerOf(got, 'Subject')).toBe('[default] hostile: hostile.told');
  expect(got.headers.filter((one) => one.includes('eve@'))).toEqual([]);
  const told = JSON.parse(got.text.slice(got.text.indexOf('{'))) as object;
  expect(told).toMatchObject({ data: { attributes: { note: text }, body: `.\r\n${text}` } });
  await client.close();
});

test.each([
  'anna@example.org\r\nBcc: eve@example.org',
  'anna@example.org, eve@example.org',
  '"Anna" <anna@example.org>',
  'mailto:anna@example.org?bcc=eve@example.org,x@example.org',
])('%j is no address', async (to) => {
  expect((await create('nobody', FAILED, to)).status).toBe(400);
});

test('a name that is more than a line is refused, as it stands in the subject', async () => {
  expect((await create('x\r\nBcc: eve@example.org', FAILED)).status).toBe(400);
});
