import { describe, expect, it } from 'vitest';
import { type Entry, finds, objectHref, objectOf, targetText } from '../src/audit/entries.js';

const ENTRY: Entry = {
  id: 1,
  at: '2026-11-23T11:00:00.000Z',
  actor: 'alice',
  actor_kind: 'user',
  address: null,
  action: 'push.start',
  target: '0123456789abcdef0123456789abcdef',
  outcome: 'done',
  detail: { command: 'uptime', nodes: 2, search: null },
};

describe('an entry of the audit', () => {
  it.each([
    ['', true],
    ['actor:alice', true],
    ["kind = 'user' AND NOT outcome:denied", true],
    ["command = 'uptime' AND nodes > 1", true],
    ['action:push.*', true],
    ['actor:bob', false],
    ['search IS NOT NULL', false],
  ])('is found by %j: %s', (selector, is) => {
    expect(finds(selector)(ENTRY)).toBe(is);
  });

  it.each([
    [{}, { name: 'job', id: ENTRY.target }],
    [{ outcome: 'denied' as const }, null],
    [
      { action: 'node.delete', target: 'web1' },
      { name: 'node', node: 'web1' },
    ],
    [
      { action: 'runbook.run', target: 'deploy' },
      { name: 'runbook', runbook: 'deploy' },
    ],
    [
      { action: 'group.set', target: 'ops' },
      { name: 'access', part: 'groups' },
    ],
    [
      { action: 'queue.change', target: 'resize' },
      { name: 'queue', queue: 'resize' },
    ],
    [{ action: 'queue.balance', target: 'default' }, { name: 'balance' }],
    [
      { action: 'task.retry', target: '280cff8c4e26f6e1' },
      { name: 'task', id: '280cff8c4e26f6e1' },
    ],
    [
      { action: 'job-worker:suspend', target: 'rack7' },
      { name: 'job-works', part: 'workers' },
    ],
    [{ action: 'secret.set', target: 'token' }, null],
    [
      { action: 'job.cancel', target: 'b5c4014b-31e7-47a0-954f-c9d404320904-007' },
      { name: 'long-job', id: 'b5c4014b-31e7-47a0-954f-c9d404320904-007' },
    ],
    [
      { action: 'job.submit', target: 'b5c4014b-31e7-47a0-954f-c9d404320904' },
      { name: 'long-job', id: 'b5c4014b-31e7-47a0-954f-c9d404320904' },
    ],
    [{ action: 'job.subscribe', target: 'b5c4014b-31e7-47a0-954f-c9d404320904-1-011' }, null],
    [
      {
        action: 'output.read',
        target: '/organizations/default/jobs/v2/b5c4014b-31e7-47a0-954f-c9d404320904-007/outputs/media/a.out',
      },
      { name: 'long-job', id: 'b5c4014b-31e7-47a0-954f-c9d404320904-007' },
    ],
    [
      { action: 'output.read', target: `/organizations/default/pushy/jobs/${ENTRY.target}/output/web1/stdout` },
      { name: 'job', id: ENTRY.target },
    ],
    [
      { action: 'output.read', target: '/organizations/default/tasks/280cff8c4e26f6e1280cff8c/output/stdout' },
      { name: 'task', id: '280cff8c4e26f6e1280cff8c' },
    ],
    [{ action: 'output.read', target: '/elsewhere' }, null],
    [{ action: 'approval.policy', target: 'runbooks' }, null],
  ])('leads to what it is about: %j', (changed, screen) => {
    expect(objectOf({ ...ENTRY, ...changed })).toEqual(screen);
  });

  it.each([
    ['schedule.run', 'nightly', '/console/default/schedules?schedule=nightly'],
    ['rule.run', 'thumbs', '/console/default/rules?rule=thumbs'],
    ['approval.grant', 'a1', '/console/default/approvals?open=a1'],
    ['queue.change', 'resize', '/console/default/queues/resize'],
  ])('opens what it is about: %s %s', (action, target, href) => {
    expect(objectHref('default', { ...ENTRY, action, target })).toBe(href);
  });

  it('names what a push job runs, and cuts what is long in the middle', () => {
    expect(targetText(ENTRY)).toBe('uptime · cdef0123');
    const path = '/srv/muster/data/secrets/default/some-file.pem';
    expect(targetText({ ...ENTRY, action: 'secret.set', target: path })).toBe('/srv/muste…default/some-file.pem');
  });
});
