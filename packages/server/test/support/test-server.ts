import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@muster/base';
import { loadConfig } from '@muster/platform/config';
import { createTestDatabase } from '../../../platform/test/support/database.js';
import { createPersonas, type Personas } from '../../../platform/test/support/personas.js';
import { Client } from '../../../platform/test/support/signed-client.js';
import { keysOfServer, madeKey } from '../../../signing/test/support/made-keys.js';
import { type RunningServer, type ServerOptions, startServer } from '../../src/server.js';

/** A whole server inside the test process, on free loopback ports, with its own data directory and database. */
export interface TestServer {
  readonly url: string;
  readonly dataDir: string;
  readonly running: RunningServer;
  /** Signs as the first admin. */
  readonly api: Client;
  /** Created on first use. */
  personas(): Promise<Personas>;
  /** Starts it again on the same data. */
  restart(): Promise<void>;
  /** Also removes its data. */
  stop(): Promise<void>;
}

export interface TestServerOptions extends Omit<ServerOptions, 'clock'> {
  readonly clock?: Clock;
  /** As flags on the command line. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly lines?: string[];
  /** It makes its keys itself, as in earnest. */
  readonly makesKeys?: boolean;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { flags = {}, lines = [], makesKeys = false, ...rest } = options;
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-server-'));
  const database = await createTestDatabase();
  const config = loadConfig({
    env: {},
    flags: {
      'data-dir': dataDir,
      http: '127.0.0.1:0',
      heartbeat: 'tcp://127.0.0.1:0',
      command: 'tcp://127.0.0.1:0',
      stomp: '127.0.0.1:0',
      'log-level': 'silent',
      ...(database.url === undefined ? {} : { 'database-url': database.url }),
      ...flags,
    },
  });
  const keys = makesKeys ? {} : { newKey: keysOfServer() };
  const print = (line: string) => lines.push(line);
  const start = () => startServer(config, { checkAnswers: true, ...keys, print, ...rest });
  if (!makesKeys) writeFileSync(join(dataDir, 'admin.pem'), madeKey(0).privateKey, { mode: 0o600 });
  let running = await start().catch(async (error: unknown) => {
    await database.release();
    rmSync(dataDir, { recursive: true, force: true });
    throw error;
  });
  let personas: Promise<Personas> | undefined;
  const admin = { name: 'admin', privateKey: readFileSync(join(dataDir, 'admin.pem'), 'utf8') };
  const api = () => new Client(running.url, admin, options.clock);
  return {
    dataDir,
    get url() {
      return running.url;
    },
    get running() {
      return running;
    },
    get api() {
      return api();
    },
    personas() {
      personas ??= createPersonas(api(), admin);
      return personas;
    },
    async restart() {
      await running.stop();
      running = await start();
    },
    async stop() {
      await running.stop();
      await database.release();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
