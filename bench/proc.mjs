import { readFileSync } from 'node:fs';

/** `getconf CLK_TCK` is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Seconds of CPU that the process has used so far, in user and kernel mode; with `children`, also what those of its
 * children used that have ended.
 */
export function cpuSeconds(pid, children = false) {
  // The second field is the command in parentheses, which may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const ticks = fields.slice(11, children ? 15 : 13).map(Number);
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_SECOND;
}

/** The same of the process and of all below it, those included that have ended; nothing below may end meanwhile. */
export function treeCpuSeconds(pid) {
  return childrenOf(pid).reduce((sum, child) => sum + treeCpuSeconds(child), cpuSeconds(pid, true));
}

/**
 * Begins to count; what is returned answers how many seconds of CPU the processes of each name have used since.
 * @param processes Answers the processes by name; asked at the beginning and at the end. One that ended between is left out.
 */
export async function countCpu(processes) {
  const before = new Map();
  for (const [, pids] of await processes()) for (const pid of pids) before.set(pid, cpuSeconds(pid));
  return async () => {
    const used = (pid) => cpuSeconds(pid) - (before.get(pid) ?? 0);
    return Object.fromEntries(
      [...(await processes())].map(([name, pids]) => [name, pids.reduce((sum, pid) => sum + used(pid), 0)]),
    );
  };
}

/** The processes that a process has started and that go on. */
export function childrenOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

/** MiB resident. */
export function residentMib(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

/** Millions of bytes resident. */
export function residentMb(pid) {
  return (residentMib(pid) * 1024 ** 2) / 1e6;
}

/** TCP connections that this machine has accepted so far. */
export function acceptedConnections() {
  const [names, values] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Tcp:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('PassiveOpens')]);
}

/** Millions of bytes resident at most, so far. */
export function peakResidentMb(pid) {
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024) / 1e6;
}
