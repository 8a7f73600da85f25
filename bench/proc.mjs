import { readFileSync } from 'node:fs';

/** `getconf CLK_TCK` is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU that the process has used so far, in user and kernel mode. */
export function cpuSeconds(pid) {
  // The second field is the command in parentheses, which may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** MiB resident. */
export function residentMib(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

/** TCP connections that this machine has accepted so far. */
export function acceptedConnections() {
  const [names, values] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Tcp:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('PassiveOpens')]);
}

/** Samples CPU (share of one core) and whatever else `probe` reads, until `stop`. */
export function sampling(periodMs, sample) {
  const samples = [];
  let last = performance.now();
  const timer = setInterval(async () => {
    const now = performance.now();
    const seconds = (now - last) / 1000;
    last = now;
    try {
      samples.push(await sample(seconds));
    } catch {
      // The process is being restarted.
    }
  }, periodMs);
  return () => {
    clearInterval(timer);
    return samples;
  };
}
