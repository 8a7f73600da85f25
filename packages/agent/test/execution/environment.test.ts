import { describe, expect, it } from 'vitest';
import { commandEnvironment } from '../../src/execution/environment.js';
import { ownVariables } from '../../src/push/variables.js';

const ACCOUNT = { name: 'web', uid: 1, gid: 1, home: '/srv/web', shell: '/bin/false' };
const request = {
  agent: {},
  account: ACCOUNT,
  configured: {},
  job: {},
  own: ownVariables('n', 'j'),
  filePath: null,
  run: 'r',
};

describe('the environment of a command', () => {
  it('is built: of what the agent holds only the path, the time zone and the language are taken', () => {
    const agent = {
      ...{ PATH: '/bin', TZ: 'UTC', LANG: 'C', LC_ALL: 'C' },
      ...{
        HOME: '/root',
        ENROLL: 'secret',
        MUSTER_TOKEN: 'secret',
        AWS_SECRET_ACCESS_KEY: 'secret',
        LD_PRELOAD: '/x.so',
      },
    };
    expect(commandEnvironment({ ...request, agent })).toEqual({
      ...{ PATH: '/bin', TZ: 'UTC', LANG: 'C', LC_ALL: 'C' },
      ...{ HOME: '/srv/web', USER: 'web', LOGNAME: 'web', SHELL: '/bin/false' },
      ...{
        CHEF_PUSH_NODE_NAME: 'n',
        CHEF_PUSH_JOB_ID: 'j',
        MUSTER_NODE_NAME: 'n',
        MUSTER_JOB_ID: 'j',
        MUSTER_RUN: 'r',
      },
    });
  });
  it('has a path also when the agent has none', () => {
    expect(commandEnvironment(request).PATH).toContain('/usr/bin');
  });
  it("has what the node's owner gives every command, and what a job sets over it", () => {
    const configured = { PATH: '/opt/bin', HTTPS_PROXY: 'http://proxy', COLOR: 'red' };
    const env = commandEnvironment({ ...request, agent: { PATH: '/bin' }, configured, job: { COLOR: 'blue' } });
    expect(env).toMatchObject({ PATH: '/opt/bin', HTTPS_PROXY: 'http://proxy', COLOR: 'blue' });
  });
  it('the names of the job override what the requester set', () => {
    const env = commandEnvironment({
      ...request,
      job: { CHEF_PUSH_NODE_NAME: 'x', MUSTER_JOB_ID: 'x', MUSTER_RUN: 'x' },
    });
    expect(env).toMatchObject({ CHEF_PUSH_NODE_NAME: 'n', MUSTER_JOB_ID: 'j', MUSTER_RUN: 'r' });
  });
  it('a forged file name does not survive when there is no file', () => {
    const env = commandEnvironment({ ...request, job: { CHEF_PUSH_JOB_FILE: '/etc/shadow', MUSTER_JOB_FILE: '/x' } });
    expect(Object.keys(env)).not.toContain('CHEF_PUSH_JOB_FILE');
    expect(Object.keys(env)).not.toContain('MUSTER_JOB_FILE');
  });
});
