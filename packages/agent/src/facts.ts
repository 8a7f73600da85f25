import { readFileSync } from 'node:fs';
import { arch, cpus, freemem, hostname, networkInterfaces, platform, release, totalmem, uptime } from 'node:os';
import { VERSION } from '@muster/base/version';
import type { Facts } from '@muster/wire';

/** What is known of this machine without asking anybody. Memory is bytes, uptime seconds. */
export function collectFacts(): Facts {
  const host = hostname();
  return {
    hostname: host.split('.')[0] ?? host,
    fqdn: fullName(host),
    ip: firstAddress(),
    os: platform(),
    distribution: distribution(),
    arch: arch(),
    kernel: release(),
    cpus: cpus().length,
    memory: totalmem(),
    memory_free: freemem(),
    uptime: Math.floor(uptime()),
    agent_version: VERSION,
  };
}

/** Facts that move by themselves are no reason to tell the server again. */
const RESTLESS = ['uptime', 'memory_free'];

export function sameFacts(one: Facts, other: Facts): boolean {
  const settled = (facts: Facts) => JSON.stringify(Object.entries(facts).filter(([name]) => !RESTLESS.includes(name)));
  return settled(one) === settled(other);
}

function firstAddress(): string {
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { internal, address } of addresses ?? []) if (!internal) return address;
  }
  return '127.0.0.1';
}

/** The name with its domain, from the hosts file when the host name has none. */
function fullName(host: string): string {
  if (host.includes('.')) return host;
  for (const line of readOr('/etc/hosts', '').split('\n')) {
    const names = (line.split('#')[0] ?? '').trim().split(/\s+/).slice(1);
    const full = names.find((name) => name.startsWith(`${host}.`));
    if (full !== undefined) return full;
  }
  return host;
}

/** `debian`, `ubuntu`, … on Linux; elsewhere the platform's name. */
function distribution(): string {
  return /^ID="?([\w.-]+)"?$/m.exec(readOr('/etc/os-release', ''))?.[1] ?? platform();
}

function readOr(path: string, fallback: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return fallback;
  }
}
