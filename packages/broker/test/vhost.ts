import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A virtual host of one test file, for tests whose queues have names that are given: others have them, too. */
export interface OwnVhost {
  readonly url: string;
  drop(): Promise<void>;
}

/** @param url Of a RabbitMQ on this machine. */
export async function ownVhost(url: string): Promise<OwnVhost> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const { username, protocol, host, password } = new URL(url);
  // In one go: each call of it takes seconds.
  const everything = '<<".*">>, <<".*">>, <<".*">>';
  await ctl(
    'eval',
    `rabbit_vhost:add(<<"${name}">>, <<"tests">>),
     rabbit_auth_backend_internal:set_permissions(<<"${username}">>, <<"${name}">>, ${everything}, <<"tests">>).`,
  );
  return {
    url: `${protocol}//${username}:${password}@${host}/${name}`,
    drop: () => ctl('delete_vhost', name),
  };
}

async function ctl(...args: readonly string[]): Promise<void> {
  await run('rabbitmqctl', ['-q', ...args]);
}
