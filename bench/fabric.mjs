import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { call, ORG } from './api.mjs';
import { freePort, MUSTER, PROFILER, startServer, until } from './server.mjs';

const TOKEN_SECONDS = 86_400;

/** A real `muster server` as the root, and what is needed to connect to it as the first admin. */
export async function startFabric({ databaseUrl, profile }) {
  const stomp = await freePort();
  const server = await startServer({ databaseUrl, profile, flags: ['--stomp', `127.0.0.1:${stomp}`] });
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-relays-'));
  const relays = [];
  const stop = async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const path = `/organizations/${ORG}`;
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await posted(server, `${path}/services`, {
      name: 'relay',
      public_key: publicKey.export({ type: 'spki', format: 'pem' }),
    });
    const { token: relayToken } = await posted(server, `${path}/services/relay/access_tokens`, { ttl: TOKEN_SECONDS });
    await answered(server, 'PUT', `${path}/groups/event_relays`, { users: [], clients: ['relay'], groups: [] });
    return {
      server,
      port: stomp,
      credentials: await eventLogin(server),
      /** A relay below that port, which takes clients. */
      async relay(upstream, flags = []) {
        const relay = await startRelay({ upstream, token: relayToken, dir, profile, flags });
        relays.push(relay);
        return relay;
      },
      /** Begins profiles of root and relays, or ends them. */
      profile() {
        for (const each of [server, ...relays]) each.profile();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** With what the first admin of a server connects to its fabric. */
export async function eventLogin(server) {
  const { token } = await posted(server, '/access_tokens', { ttl: TOKEN_SECONDS });
  return { login: `${ORG}/admin`, passcode: token };
}

async function startRelay({ upstream, token, dir, profile, flags }) {
  const [port, status] = [await freePort(), await freePort()];
  const args = ['relay', '--upstream', `stomp://127.0.0.1:${upstream}`, '--login', `${ORG}/relay`];
  args.push('--listen', `127.0.0.1:${port}`, '--status', `127.0.0.1:${status}`, '--log-level', 'warn', ...flags);
  const env = { ...process.env, MUSTER_TOKEN: token, XDG_RUNTIME_DIR: dir };
  if (profile !== undefined) env.MUSTER_BENCH_PROFILE = resolve(profile);
  const child = spawn(process.execPath, [...(profile === undefined ? [] : ['--import', PROFILER]), MUSTER, ...args], {
    cwd: dir,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  const ask = async () => (await fetch(`http://127.0.0.1:${status}/status`)).json();
  const gone = exited.then(([code]) => Promise.reject(new Error(`a relay exited with ${code}`)));
  const served = until('a relay to serve', async () => {
    const { upstream: above, listen } = await ask();
    return above.state === 'serving' && listen.length > 0;
  });
  for (const loser of [served, gone]) loser.catch(() => undefined);
  await Promise.race([served, gone]);
  return {
    port,
    pid: child.pid,
    /** Processes that do the work: its workers, or itself. */
    get pids() {
      const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
      return children === '' ? [child.pid] : children.split(' ').map(Number);
    },
    status: ask,
    profile() {
      if (profile !== undefined) child.kill('SIGUSR2');
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

const posted = (server, path, content) => answered(server, 'POST', path, content);

async function answered(server, method, path, content) {
  const answer = await call(server, method, path, content);
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}
