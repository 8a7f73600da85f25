import cluster from 'node:cluster';
import { MusterError } from '../../errors.js';
import { isLoopback } from '../../transport/address.js';
import { checkRelayOptions, type RelayOptions } from '../options.js';
import { type RelayEnvironment, startRelay } from '../relay.js';
import { metricsText } from '../status/metrics-text.js';
import type { RelayStatus } from '../status/status.js';
import { type StatusAddress, type StatusServer, serveStatus } from '../status/status-server.js';
import { statusSocket } from '../status/status-sockets.js';
import { answerPrimary, startWorkers } from './workers.js';

/** A relay as a program. */
export interface RelayRun {
  readonly options: RelayOptions;
  /** Processes that share the listening ports. */
  readonly workers: number;
  /** HOST:PORT for status and metrics, besides the socket for `muster relay status`. */
  readonly status: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Settles when it is told to stop. */
  readonly stopping: Promise<void>;
}

/**
 * Runs a relay until it is told to stop, or cannot go on. Resolves with the exit code.
 * Rejects with what is wrong: `upstream_missing`, `upstream_refused`, `insecure_relay`, `address_in_use`, `usage`.
 */
export async function runRelayProcess(run: RelayRun, environment: RelayEnvironment): Promise<number> {
  const settings = checkRelayOptions(run.options);
  const address = run.status === undefined ? null : statusAddress(run.status, settings.insecure);
  if (cluster.isWorker) return runWorker(run, environment);
  return run.workers > 1
    ? runPrimary(run, environment, settings.retryMs, address)
    : runAlone(run, environment, address);
}

async function runAlone(run: RelayRun, environment: RelayEnvironment, address: StatusAddress | null): Promise<number> {
  const relay = startRelay(run.options, environment);
  const servers = await serve(run, environment, address, async () => relay.status()).catch(async (error: unknown) => {
    await relay.stop();
    throw error;
  });
  const failure = await Promise.race([run.stopping, relay.failed]);
  await Promise.all([relay.stop(), ...servers.map((server) => server.close())]);
  if (failure instanceof MusterError) throw failure;
  return 0;
}

async function runWorker(run: RelayRun, environment: RelayEnvironment): Promise<number> {
  const relay = startRelay(run.options, environment);
  const primary = answerPrimary(() => relay.status());
  relay.serving.then(() => primary.serving());
  const failure = await Promise.race([run.stopping, relay.failed]);
  await relay.stop();
  // Otherwise the connection to the process that started us would keep us.
  cluster.worker?.disconnect();
  if (failure instanceof MusterError) throw failure;
  return 0;
}

async function runPrimary(
  run: RelayRun,
  environment: RelayEnvironment,
  retryMs: number,
  address: StatusAddress | null,
): Promise<number> {
  const workers = startWorkers({ count: run.workers, retryMs }, environment);
  const servers = await serve(run, environment, address, workers.status).catch(async (error: unknown) => {
    await workers.stop();
    throw error;
  });
  const code = await Promise.race([run.stopping, workers.failed]);
  await Promise.all([workers.stop(), ...servers.map((server) => server.close())]);
  return code ?? 0;
}

async function serve(
  run: RelayRun,
  { clock, log }: RelayEnvironment,
  address: StatusAddress | null,
  status: () => Promise<RelayStatus>,
): Promise<StatusServer[]> {
  const pages = {
    '/status': async () => ({
      type: 'application/json',
      text: `${JSON.stringify(await status())}\n`,
    }),
    '/metrics': async () => ({
      type: 'text/plain; version=0.0.4; charset=utf-8',
      text: metricsText(await status(), clock.now()),
    }),
  };
  const servers: StatusServer[] = [];
  if (address !== null) {
    const server = await serveStatus(address, pages);
    log.info({ status: server.url }, 'status and metrics are served');
    servers.push(server);
  }
  try {
    servers.push(await serveStatus({ path: await statusSocket(run.env) }, pages));
  } catch (error) {
    // A relay does its work without it.
    log.warn({ err: error }, '`muster relay status` will not find this relay');
  }
  return servers;
}

function statusAddress(text: string, insecure: boolean): StatusAddress {
  const [, ipv6, name, port] = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/.exec(text) ?? [];
  const host = ipv6 ?? name;
  if (host === undefined || Number(port) > 65_535) {
    throw new MusterError('usage', { reason: `--status must be HOST:PORT, got '${text}'` });
  }
  if (!insecure && !isLoopback(host)) {
    const reason = `--status ${text} would tell everybody what this relay does: keep to this machine, or give --insecure`;
    throw new MusterError('usage', { reason });
  }
  return { host, port: Number(port) };
}
