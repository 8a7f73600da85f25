import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONDITIONS, obstacle, ruleOf } from '../../src/recovery/conditions/index.js';
import { parametersText, testerHash } from '../../src/recovery/grouping.js';
import { outcomeOf } from '../../src/recovery/outcome.js';
import { POLICIES } from '../../src/recovery/policies/index.js';
import { SystemTrouble, type TroubleKind } from '../../src/systems/types.js';
import { Blocked, Failed } from '../../src/types.js';

const NEW = { workPath: null, blockedCount: 0 };
const STAGED = { workPath: '/w', blockedCount: 0 };

describe('a condition', () => {
  it('is a file of its own, named as it is, and in the registry', () => {
    const files = readdirSync(new URL('../../src/recovery/conditions', import.meta.url));
    const named = files.map((file) => file.replace('.ts', '')).filter((file) => file !== 'index' && file !== 'types');
    const names = Object.keys(CONDITIONS).map((name) => name.toLowerCase().replaceAll('_', '-'));
    expect(names.sort()).toEqual(named.sort());
  });

  it.each(Object.entries(CONDITIONS))('%s has a policy that is understood (sheet §7.1)', (_, rule) => {
    const policy = POLICIES.get(rule.policy);
    expect(policy?.mistakes(rule.parameters)).toEqual([]);
    expect(policy?.next(rule.parameters, { attempts: 0, created: 0 }, 0).kind).toBe('wait');
  });

  it('gives up after no more time than two days, and what is meant to be seconds is (§7.10.5)', () => {
    for (const [name, { policy, parameters }] of Object.entries(CONDITIONS)) {
      const late = POLICIES.get(policy)?.next(parameters, { attempts: 1, created: 0 }, 172_800_000);
      expect(late?.kind, name).toBe(name === 'QUOTA_EXCEEDED' ? 'wait' : 'give-up');
    }
  });

  it('that nobody knows has no rule', () => {
    expect(ruleOf('RAIN')).toBeNull();
    expect(ruleOf('constructor')).toBeNull();
    expect(ruleOf('DISK_FULL')).toBe(CONDITIONS.DISK_FULL);
  });
});

describe('the trouble of a system', () => {
  const KINDS: Readonly<Record<TroubleKind, string>> = {
    SYSTEM_NOT_AVAILABLE: 'DEFAULT_SYSTEM_AVAILABLE_TESTER',
    CONNECTION_FAILURE: 'DEFAULT_CONNECTION_TESTER',
    CONNECTION_TIMEOUT: 'DEFAULT_CONNECTION_TIMEOUT_TESTER',
    AUTHENTICATION_FAILED: 'DEFAULT_AUTHENTICATION_TESTER',
    HOST_KEY_CHANGED: 'DEFAULT_HOST_KEY_TESTER',
    TRANSMISSION_FAILURE: 'DEFAULT_TRANSMISSION_TESTER',
    DISK_FULL: 'DEFAULT_DISK_TESTER',
    SCHEDULER_BUSY: 'DEFAULT_SCHEDULER_TESTER',
  };

  it.each(Object.entries(KINDS))('%s blocks the job, and %s says when it is over', (kind, tester) => {
    const outcome = outcomeOf(new SystemTrouble('hpc1', kind as TroubleKind, 'it is so'), STAGED);
    expect(outcome).toBeInstanceOf(Blocked);
    const { obstacle: at } = outcome as Blocked;
    expect(at).toEqual({ condition: kind, message: 'it is so', tester, parameters: { systemId: 'hpc1' } });
  });

  it('counts a first login that is refused apart: it is more likely a mistake', () => {
    const outcome = outcomeOf(new SystemTrouble('hpc1', 'AUTHENTICATION_FAILED', 'no'), NEW) as Blocked;
    expect(outcome.obstacle.condition).toBe('FIRST_AUTHENTICATION_FAILED');
  });

  it('that no condition recognizes is a fault of Muster', () => {
    expect(outcomeOf(new SystemTrouble('hpc1', 'RAIN' as TroubleKind, 'it rains'), STAGED)).toBeNull();
  });

  it('is found behind other errors', () => {
    const trouble = new SystemTrouble('hpc1', 'CONNECTION_FAILURE', 'gone');
    const outcome = outcomeOf(new Error('staging', { cause: new Error('copy', { cause: trouble }) }), STAGED);
    expect(outcome).toBeInstanceOf(Blocked);
    const failed = new Failed('JOB_LAUNCH_FAILURE', 'refused');
    expect(outcomeOf(new Error('submitting', { cause: failed }), STAGED)).toBe(failed);
    expect(outcomeOf(new TypeError('x is not a function'), STAGED)).toBeNull();
    expect(outcomeOf('text', STAGED)).toBeNull();
  });

  it('fails a job that was blocked a hundred times although every test was passed, but not one that waits for its turn', () => {
    const trouble = new SystemTrouble('hpc1', 'TRANSMISSION_FAILURE', 'broke off');
    expect(outcomeOf(trouble, { workPath: '/w', blockedCount: 99 })).toBeInstanceOf(Blocked);
    const failed = outcomeOf(trouble, { workPath: '/w', blockedCount: 100 });
    expect(failed).toMatchObject({ name: 'Failed', condition: 'JOB_RECOVERY_FAILURE' });
    const turn = new Blocked(obstacle('QUOTA_EXCEEDED', 'full', { systemId: 'hpc1' }));
    expect(outcomeOf(turn, { workPath: '/w', blockedCount: 5000 })).toBe(turn);
  });
});

describe('the group of a job (sheet §7.3)', () => {
  const at = (parameters: Record<string, string>) => ({ tester: 'T', parameters });

  it('is the SHA-1 of tenant, tester and its parameters, keys sorted', () => {
    expect(testerHash('portals', at({ b: '2', a: '1' }))).toBe('cac65f1d0ad6741c48970fa71dfeb44b2c2a123a');
    expect(testerHash('portals', at({ a: '1', b: '2' }))).toBe(testerHash('portals', at({ b: '2', a: '1' })));
    expect(testerHash('others', at({ a: '1' }))).not.toBe(testerHash('portals', at({ a: '1' })));
  });

  it('is the same whatever the job did when it was blocked', () => {
    const doing = (BlockedJobActivity: string) => testerHash('portals', at({ a: '1', BlockedJobActivity }));
    expect(doing('STAGING_INPUTS')).toBe(doing('ARCHIVING'));
    expect(parametersText({ BlockedJobActivity: 'RUNNING', a: '1' })).toBe('{"a":"1"}');
  });
});
