import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from 'rabbitmq-client';
import { afterEach } from 'vitest';
import { until } from './conformance/suite.js';

/** A RabbitMQ of one test file, with files, ports and name of its own: to be broken. */
export interface ScratchNode {
  readonly url: string;
  /** `rabbitmqctl`. */
  ctl(...args: string[]): Promise<string>;
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void;
  /** Again, after it was killed. */
  start(): Promise<void>;
  /** What it has written last. */
  log(): string;
  drop(): Promise<void>;
}

/** Why a test failed may be known to the node alone, and its files go with it. */
export function tellLogOfFailures(node: () => ScratchNode | undefined): void {
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.error(`the log of RabbitMQ:\n${node()?.log()}`);
  });
}

/**
 * For `eval`. As if each channel had acknowledged what it never had: the broker closes a channel for that, and no connection.
 */
export const CLOSE_ALL_CHANNELS =
  "[rabbit_channel:do(P, {'basic.ack', 999999999, false}) || P <- rabbit_channel:list()].";

/** Debian's commands would become another user; these run as whoever runs the tests. */
const SCRIPTS = '/usr/lib/rabbitmq/bin';
const script = (name: string): string => (existsSync(join(SCRIPTS, name)) ? join(SCRIPTS, name) : name);

const MOST_START_MS = 200_000;

/** Characters of each file of the log. */
const LOG_TOLD = 8000;

/** It has ended by itself before it answered. */
class Ended extends Error {}

/** A port that was free may be somebody else's by the time RabbitMQ takes it: then it ends, and other ports are tried. */
const ATTEMPTS = 3;

/** @param settings Of the application `rabbit`, in Erlang's notation. */
export async function scratchNode(settings: Readonly<Record<string, number>> = {}): Promise<ScratchNode> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await nodeOnFreePorts(settings);
    } catch (error) {
      if (!(error instanceof Ended) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function nodeOnFreePorts(settings: Readonly<Record<string, number>>): Promise<ScratchNode> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-rabbitmq-'));
  const [port, dist, epmd] = [await freePort(), await freePort(), await freePort()];
  const terms = Object.entries(settings).map(([name, value]) => `{${name}, ${value}}`);
  writeFileSync(join(directory, 'advanced.config'), `[{rabbit, [${terms.join(', ')}]}].\n`);
  writeFileSync(join(directory, 'rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${port}\nloopback_users = none\n`);
  writeFileSync(join(directory, 'plugins'), '[].\n');
  const env = {
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    HOME: directory,
    ERL_EPMD_PORT: String(epmd),
    // It may be ended though the node was killed a moment ago.
    ERL_EPMD_RELAXED_COMMAND_CHECK: 'true',
    RABBITMQ_NODENAME: `scratch${port}@localhost`,
    RABBITMQ_DIST_PORT: String(dist),
    RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(directory, 'advanced.config'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: join(directory, 'no-environment'),
    RABBITMQ_MNESIA_BASE: join(directory, 'data'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_PID_FILE: join(directory, 'pid'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1',
  };
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  const run = promisify(execFile);
  let child: ReturnType<typeof spawn> | undefined;
  const signal = (name: NodeJS.Signals): void => {
    // With it whatever it has started.
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, name);
  };
  const node: ScratchNode = {
    url,
    ctl: async (...args) => (await run(script('rabbitmqctl'), ['-q', ...args], { env })).stdout,
    signal,
    async start() {
      const started = spawn(script('rabbitmq-server'), [], { env, stdio: 'ignore', detached: true });
      child = started;
      await until(() => {
        if (started.exitCode !== null) throw new Ended(`rabbitmq-server has ended: ${started.exitCode}`);
        return answers(url);
      }, MOST_START_MS);
    },
    log() {
      const logs = join(directory, 'log');
      return readdirSync(logs, { withFileTypes: true })
        .filter((file) => file.isFile())
        .map(({ name }) => readFileSync(join(logs, name), 'utf8').slice(-LOG_TOLD))
        .join('\n');
    },
    async drop() {
      signal('SIGKILL');
      if (child !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await run('epmd', ['-port', String(epmd), '-kill'], { env }).catch(() => undefined);
      rmSync(directory, { recursive: true, force: true });
    },
  };
  try {
    await node.start();
  } catch (error) {
    await node.drop();
    throw error;
  }
  return node;
}

async function answers(url: string): Promise<boolean> {
  const connection = new Connection({ url, retryLow: 60_000 });
  connection.on('error', () => undefined);
  try {
    await connection.onConnect(500, true);
    return true;
  } catch {
    return false;
  } finally {
    connection.unsafeDestroy();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
