import { type ChildProcess, spawn } from 'node:child_process';
import { userInfo } from 'node:os';
import type { Duplex } from 'node:stream';
import type { SystemOrder } from '@muster/wire';
import { type Account, findAccount, mayBecome } from '../execution/account.js';
import { commandEnvironment } from '../execution/environment.js';
import { asAccount } from '../execution/runner.js';
import { HELPER_LOG_BYTES, SYSTEM_HELPERS } from '../limits.js';
import type { AgentLog } from '../logging.js';
import { allowedRoot, type SystemsConfig } from './config.js';

/** Answers about one connection that the server asked for, both with a signed request. */
export interface SessionCalls {
  /** The connection. @throws Error when the server does not want it any more, or is not reached */
  connect(session: string, signal: AbortSignal): Promise<Duplex>;
  refuse(session: string, reason: string): Promise<void>;
}

export interface SystemHelpersDeps {
  readonly calls: SessionCalls;
  readonly logger: AgentLog;
  /** The file that a helper runs: `FILE NAME ROOT WITHIN`, and the connection as its fourth descriptor. */
  readonly main: string;
}

/** Execution systems on the node. The owner does not allow it, or it cannot be done; the message says why. */
class Refused extends Error {
  override readonly name = 'Refused';
}

/**
 * Helpers serve files and programs of this node to workers of the server, each one connection, as the user that the owner named.
 * The agent passes bytes on and does not look into them. A helper ends with its connection; what the scheduler of a system has
 * started goes on, also without the agent.
 */
export class SystemHelpers {
  readonly #deps: SystemHelpersDeps;
  readonly #running = new Map<string, AbortController>();

  constructor(deps: SystemHelpersDeps) {
    this.#deps = deps;
  }

  /** Connects a helper to the server, or says to it why not. What is going on already is not begun again. */
  open(order: SystemOrder, config: SystemsConfig | undefined): void {
    if (this.#running.has(order.session)) return;
    const stop = new AbortController();
    this.#running.set(order.session, stop);
    this.#serve(order, config, stop.signal)
      .catch((error: unknown) => this.#failed(order, error))
      .finally(() => this.#running.delete(order.session));
  }

  stop(): void {
    for (const stop of this.#running.values()) stop.abort(new Error('the agent stops'));
  }

  async #serve(order: SystemOrder, config: SystemsConfig | undefined, signal: AbortSignal): Promise<void> {
    const { calls, logger } = this.#deps;
    const { session, system, root } = order;
    if (this.#running.size > SYSTEM_HELPERS) throw new Refused(`${SYSTEM_HELPERS} helpers run on this node already`);
    const allowed = allowedRoot(config, root);
    if ('refused' in allowed) throw new Refused(allowed.refused);
    const account = await accountOf(config?.user ?? '');
    const child = await this.#start([system, root, allowed.within], account, session).catch((error: unknown) => {
      throw new Refused(`its helper cannot be started: ${error instanceof Error ? error.message : String(error)}`);
    });
    try {
      const connection = await calls.connect(session, signal);
      logger.info({ system, root, user: account.name }, 'the server uses an execution system on this node');
      await passedOn(connection, child, signal);
      logger.info({ system, root }, 'the server has let go of an execution system on this node');
    } finally {
      child.kill('SIGKILL');
    }
  }

  async #start(words: readonly string[], account: Account, session: string): Promise<ChildProcess> {
    const env = commandEnvironment({
      agent: process.env,
      account,
      configured: {},
      job: {},
      own: { values: {}, file: [] },
      filePath: null,
      run: `system-${session}`,
    });
    const call = { account, file: process.execPath, args: [this.#deps.main, ...words], env, cwd: '/' };
    const { file, args, options } = await asAccount(call);
    const child = spawn(file, args, {
      ...options,
      cwd: '/',
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.#logged(child, words);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.on('error', () => undefined);
    return child;
  }

  /** What it says when it breaks. */
  #logged(child: ChildProcess, [system = '']: readonly string[]): void {
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      said = (said + piece).slice(0, HELPER_LOG_BYTES);
    });
    child.once('close', () => {
      if (said !== '') this.#deps.logger.warn({ system, said }, 'a helper of an execution system ended with a fault');
    });
  }

  async #failed({ session, system, root }: SystemOrder, error: unknown): Promise<void> {
    const { calls, logger } = this.#deps;
    const why = error instanceof Error ? error.message : String(error);
    logger.warn({ system, root }, `the server does not get an execution system on this node: ${why}`);
    if (!(error instanceof Refused)) return;
    await calls.refuse(session, why).catch((unsaid: unknown) => {
      logger.warn({ system, err: unsaid }, 'the server could not be told so');
    });
  }
}

async function accountOf(name: string): Promise<Account> {
  const account = await findAccount(name);
  if (account === null) throw new Refused(`user '${name}', of systems.user in agent.yaml, does not exist on this node`);
  if (mayBecome(account)) return account;
  throw new Refused(
    `the agent runs as '${userInfo().username}' and may not become '${name}', of systems.user in agent.yaml`,
  );
}

/** Resolves when either has ended; then both have. */
function passedOn(connection: Duplex, child: ChildProcess, signal: AbortSignal): Promise<void> {
  const helper = child.stdio[3] as Duplex;
  return new Promise((resolve) => {
    const ended = (): void => {
      connection.destroy();
      helper.destroy();
      resolve();
    };
    for (const one of [connection, helper]) one.on('error', ended).once('end', ended).once('close', ended);
    child.once('exit', ended);
    if (signal.aborted || child.exitCode !== null || child.signalCode !== null) return ended();
    signal.addEventListener('abort', ended, { once: true });
    connection.pipe(helper);
    helper.pipe(connection);
  });
}
