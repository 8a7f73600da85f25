import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from 'rabbitmq-client';
import { freePort, until } from './server.mjs';

/** Debian's scripts in /usr/sbin would change the user; these do not. */
const SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server';

/** A RabbitMQ of its own in a scratch directory, without plugins; null where none is installed. */
export async function startRabbitMq() {
  if (!existsSync(SERVER)) return null;
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-rabbitmq-'));
  const [port, distribution, mapper] = [await freePort(), await freePort(), await freePort()];
  const plugins = join(dir, 'enabled_plugins');
  writeFileSync(plugins, '[].\n');
  // Instead of those of the machine.
  const config = join(dir, 'rabbitmq.conf');
  writeFileSync(config, `listeners.tcp.1 = 127.0.0.1:${port}\n`);
  const env = {
    ...process.env,
    HOME: dir,
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `muster-bench-${process.pid}@localhost`,
    RABBITMQ_CONF_ENV_FILE: '/dev/null',
    RABBITMQ_CONFIG_FILE: config,
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(dir, 'mnesia'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: plugins,
  };
  const child = spawn(SERVER, [], { cwd: dir, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    // The port mapper was started by RabbitMQ for itself, and outlives it.
    spawnSync('epmd', ['-port', String(mapper), '-kill'], { stdio: 'ignore' });
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const gone = exited.then(([code]) => Promise.reject(new Error(`RabbitMQ exited with ${code}`)));
    const answered = until('RabbitMQ to answer', () => answers(url));
    for (const loser of [answered, gone]) loser.catch(() => undefined);
    await Promise.race([answered, gone]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

async function answers(url) {
  const connection = new Connection({ url, acquireTimeout: 1000, retryLow: 200 });
  try {
    connection.on('error', () => undefined);
    await connection.onConnect(1000);
    return true;
  } catch {
    return false;
  } finally {
    connection.unsafeDestroy();
  }
}
