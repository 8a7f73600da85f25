import { describe, expect, it } from 'vitest';
import { musterCommand } from '../src/parts/shell.js';
import {
  faults,
  jobBody,
  previewBody,
  secondsOf,
  shareOf,
  startCommand,
  targetOf,
  type Wish,
} from '../src/push/wish.js';

const WISH: Wish = {
  where: { by: 'search', query: 'role:web AND env:prod' },
  command: 'chef-client',
  quorum: '80%',
  concurrency: '',
  timeout: '15m',
  user: '',
  dir: '',
  maxFailures: '',
  wait: false,
};

describe('a wish for a push job', () => {
  it('is the request and the command line that do the same', () => {
    const target = targetOf(WISH.where);
    expect(target).toEqual({ search: 'role:web AND env:prod' });
    expect(jobBody(WISH, target ?? {})).toEqual({
      search: 'role:web AND env:prod',
      command: 'chef-client',
      capture_output: true,
      quorum: '80%',
      run_timeout: 900,
    });
    expect(startCommand(WISH)).toBe(
      "muster push start 'role:web AND env:prod' --quorum 80% --run-timeout 15m -- chef-client",
    );
  });

  it.each([
    [{ by: 'nodes', names: 'web1, web2\nweb1' }, { nodes: ['web1', 'web2'] }],
    [{ by: 'group', group: ' canaries ' }, { node_group: 'canaries' }],
    [{ by: 'job', id: 'j1', statuses: ['failed'] }, { from_job: { id: 'j1', statuses: ['failed'] } }],
    [{ by: 'nodes', names: ' ' }, null],
    [{ by: 'search', query: '' }, null],
  ] as const)('%j chooses %j', (where, target) => {
    expect(targetOf(where)).toEqual(target);
  });

  it('asks the server what would become of it, as far as that can be read', () => {
    const target = { search: '*:*' };
    expect(previewBody({ ...WISH, command: '', quorum: '' }, target)).toEqual(target);
    const asked = { ...target, command: 'greet', quorum: '80%', when_busy: 'wait' };
    expect(previewBody({ ...WISH, command: 'greet', quorum: '80%', wait: true }, target)).toEqual(asked);
    expect(previewBody({ ...WISH, command: 'greet', quorum: 'many' }, target)).toEqual({ ...target, command: 'greet' });
  });

  it('says what cannot be read', () => {
    expect(Object.keys(faults({ ...WISH, quorum: '120%', timeout: 'soon' }))).toEqual(['quorum', 'timeout']);
    expect(shareOf('1.5')).toBeNull();
    expect(secondsOf('2h')).toBe(7200);
    expect(secondsOf('90')).toBe(90);
  });

  it('quotes what a shell would take apart', () => {
    expect(musterCommand('push', 'start', "it's", '', null, '--', 'a;b')).toBe(
      "muster push start 'it'\\''s' '' -- 'a;b'",
    );
  });
});
