import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort, until } from './server.mjs';

/** A NATS server of its own; null where none is installed (Debian: `apt-get install nats-server`). */
export async function startNats() {
  if (spawnSync('nats-server', ['--version'], { stdio: 'ignore' }).error !== undefined) {
    console.error('no NATS is installed (Debian: apt-get install nats-server): no peer');
    return null;
  }
  const port = await freePort();
  const child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  await until('NATS to answer', async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'data');
      return true;
    } finally {
      socket.destroy();
    }
  });
  return {
    port,
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
