import { isIP } from 'node:net';
import { MusterError } from '../errors.js';
import { isLoopback, parseHostPort, parseTcpAddress } from './address.js';
import { shown } from './nearest.js';
import type { ServerConfig } from './schema.js';

const HOST_NAME = /^[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})$/;

/** What the schema cannot say about single settings and about settings together. */
export function crossProblems(config: ServerConfig, nameOf: (path: string) => string): string[] {
  const problems: string[] = [];
  const { http, heartbeat, command, stomp, spec1, disbatch } = config;

  if ((http.tls_cert === undefined) !== (http.tls_key === undefined)) {
    problems.push('http.tls_cert and http.tls_key (--tls-cert, --tls-key) need each other');
  }
  if ((stomp.tls_cert === undefined) !== (stomp.tls_key === undefined)) {
    problems.push('stomp.tls_cert and stomp.tls_key (--stomp-tls-cert, --stomp-tls-key) need each other');
  }
  if ((disbatch.tls_cert === undefined) !== (disbatch.tls_key === undefined)) {
    problems.push('disbatch.tls_cert and disbatch.tls_key (--disbatch-tls-cert, --disbatch-tls-key) need each other');
  }
  if ((spec1.heartbeat === undefined) !== (spec1.command === undefined)) {
    problems.push('spec1.heartbeat and spec1.command (--spec1-heartbeat, --spec1-command) need each other');
  }
  const listeners = { 'http.listen': http.listen, 'stomp.listen': stomp.listen, 'disbatch.listen': disbatch.listen };
  for (const [path, text] of Object.entries(listeners)) {
    if (text !== undefined && parseHostPort(text) === null)
      problems.push(`${nameOf(path)}: expected HOST:PORT, got ${shown(text)}`);
  }
  const sockets = {
    'heartbeat.listen': heartbeat.listen,
    'command.listen': command.listen,
    'spec1.heartbeat': spec1.heartbeat,
    'spec1.command': spec1.command,
  };
  for (const [path, text] of Object.entries(sockets)) {
    if (text !== undefined && parseTcpAddress(text) === null) {
      problems.push(`${nameOf(path)}: expected tcp://HOST:PORT, got ${shown(text)}`);
    }
  }
  for (const [path, text] of Object.entries({
    'heartbeat.advertise': heartbeat.advertise,
    'command.advertise': command.advertise,
  })) {
    const address = text === undefined ? undefined : parseTcpAddress(text);
    if (text !== undefined && (!address || address.port === 0 || address.host === '*')) {
      problems.push(`${nameOf(path)}: expected tcp://HOST:PORT that a node can connect to, got ${shown(text)}`);
    }
  }
  const told = stomp.advertise === undefined ? undefined : parseHostPort(stomp.advertise);
  if (told === null || told?.port === 0 || told?.host === '*') {
    const text = shown(stomp.advertise ?? '');
    problems.push(`${nameOf('stomp.advertise')}: expected HOST:PORT that a client can connect to, got ${text}`);
  }
  if (http.advertise !== undefined && !isUrl(http.advertise, /^https?:\/\/[^/]/)) {
    problems.push(`${nameOf('http.advertise')}: expected http://HOST:PORT or https://, got ${shown(http.advertise)}`);
  }
  problems.push(
    ...sharedPorts({
      'http.listen': `tcp://${http.listen}`,
      'stomp.listen': `tcp://${stomp.listen}`,
      'disbatch.listen': disbatch.listen && `tcp://${disbatch.listen}`,
      ...sockets,
    }),
  );
  // A value may hold a password.
  const { database_url: database, broker_url: broker, outbound } = config;
  if (database !== undefined && !isUrl(database, /^postgres(ql)?:\/\//)) {
    problems.push(`${nameOf('database_url')}: expected postgres://USER@HOST:PORT/DATABASE`);
  }
  if (broker !== undefined && !isUrl(broker, /^amqps?:\/\//)) {
    problems.push(`${nameOf('broker_url')}: expected amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps://`);
  }
  if (outbound.smtp_url !== undefined && !isUrl(outbound.smtp_url, /^smtps?:\/\//)) {
    problems.push(`${nameOf('outbound.smtp_url')}: expected smtp://USER:PASSWORD@HOST:PORT, or smtps://`);
  }
  const { cluster, cluster_url: clusterUrl } = config;
  if (cluster && database === undefined) {
    problems.push(`${nameOf('cluster')}: a cluster needs database_url (--database-url): SQLite has one process`);
  }
  if (clusterUrl !== undefined && !isUrl(clusterUrl, /^https?:\/\/[^/]+\/?$/)) {
    problems.push(`${nameOf('cluster_url')}: expected http://HOST:PORT or https://HOST:PORT, got ${shown(clusterUrl)}`);
  }
  if (clusterUrl !== undefined && clusterUrl.startsWith('https:') !== (http.tls_cert !== undefined)) {
    const scheme = http.tls_cert === undefined ? 'http' : 'https';
    problems.push(
      `${nameOf('cluster_url')}: expected ${scheme}://, as http.listen speaks it, got ${shown(clusterUrl)}`,
    );
  }
  if (config.name !== undefined && !HOST_NAME.test(config.name)) {
    problems.push(`${nameOf('name')}: expected a host name, got ${shown(config.name)}`);
  }
  for (const proxy of http.trusted_proxies) {
    if (!isNetwork(proxy)) {
      problems.push(`${nameOf('http.trusted_proxies')}: expected an IP address or ADDRESS/BITS, got ${shown(proxy)}`);
    }
  }
  if (config.data_dir === '' || config.data_dir.includes('\0')) {
    problems.push(`${nameOf('data_dir')}: expected a directory`);
  }
  return problems;
}

function sharedPorts(addresses: Readonly<Record<string, string | undefined>>): string[] {
  const owners = new Map<string, string>();
  const problems: string[] = [];
  for (const [path, text] of Object.entries(addresses)) {
    const address = text === undefined ? null : parseTcpAddress(text);
    if (address === null || address.port === 0) continue;
    const place = `${address.host}:${address.port}`;
    const owner = owners.get(place);
    if (owner !== undefined) problems.push(`${owner} and ${path} cannot both listen on ${place}`);
    owners.set(place, path);
  }
  return problems;
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function isUrl(text: string, scheme: RegExp): boolean {
  return scheme.test(text) && URL.canParse(text);
}

/** @throws MusterError `insecure_listen`, `insecure_stomp`, `insecure_disbatch`: what is not encrypted beyond loopback must be asked for */
export function checkListening({ http, stomp, disbatch }: ServerConfig): void {
  if (isExposed(http)) throw new MusterError('insecure_listen', { address: http.listen });
  if (isExposed(stomp)) throw new MusterError('insecure_stomp', { address: stomp.listen });
  const { listen } = disbatch;
  if (listen !== undefined && isExposed({ ...disbatch, listen })) {
    throw new MusterError('insecure_disbatch', { address: listen });
  }
}

interface Listening {
  readonly listen: string;
  readonly tls_cert?: string | undefined;
  readonly insecure: boolean;
}

function isExposed({ listen, tls_cert: cert, insecure }: Listening): boolean {
  const address = parseHostPort(listen);
  return address !== null && !isLoopback(address.host) && cert === undefined && !insecure;
}
