import type { KeyObject } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, readByOthers } from '@muster/base';
import { LIMITS, type NodeConfiguration } from '@muster/wire';
import pino from 'pino';
import { durableFiles } from './durable.js';
import { MusterError } from './errors.js';
import { CgroupsUnusable, groupOf } from './execution/cgroup.js';
import { controllersOf, probe, requireControllers } from './execution/command-groups.js';
import { limitFiles } from './execution/run-limits.js';
import { KILLED_BY_GROUP, KILLED_BY_TREE } from './execution/system-processes.js';
import { DOCTOR_CHANNEL_MS, DOCTOR_HEARTBEAT_MS } from './limits.js';
import { type NodeIdentity, requestConfiguration } from './link/configuration-request.js';
import { Connection } from './link/connection.js';
import { http } from './link/http.js';
import { pinFile, ServerPin } from './link/server-pin.js';
import { type CurveKeys, zeromqSockets } from './link/sockets.js';
import { runFactsProgram } from './own-facts.js';
import { livingOwner } from './pid-file.js';
import { type AgentOptions, type AgentSettings, loadIdentity, loadSettings } from './settings.js';
import { systemProblems } from './systems/check.js';

export type CheckName =
  | 'configuration'
  | 'commands'
  | 'systems'
  | 'facts'
  | 'key'
  | 'server'
  | 'clock'
  | 'discovery'
  | 'server key'
  | 'command channel'
  | 'heartbeat';

export interface DoctorCheck {
  readonly name: CheckName;
  readonly ok: boolean;
  /** The node is available all the same, but something is to be mended. */
  readonly warning: boolean;
  /** What was found; when not ok, what to do about it. */
  readonly detail: string;
}

export interface Diagnosis {
  readonly ok: boolean;
  /** For people. */
  readonly paragraph: string;
  readonly checks: readonly DoctorCheck[];
}

/** A check that failed so that the later ones cannot be made. */
class Blocked extends Error {
  override readonly name = 'Blocked';
}

/**
 * Why this node is or is not available, looked at from the node. Nothing is changed, and a running agent is not
 * disturbed: the session and the CURVE key asked for here are its own.
 */
export async function doctor(options: AgentOptions, clock: Clock): Promise<Diagnosis> {
  const checks: DoctorCheck[] = [];
  const good = (name: CheckName, detail: string) => checks.push({ name, ok: true, warning: false, detail });
  const bad = (name: CheckName, detail: string) => checks.push({ name, ok: false, warning: false, detail });
  const warn = (name: CheckName, detail: string) => checks.push({ name, ok: true, warning: true, detail });
  const need = async <T>(name: CheckName, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      bad(name, explain(error));
      throw new Blocked();
    }
  };

  let settings: AgentSettings | null = null;
  try {
    settings = await need('configuration', () => loadSettings(options));
    good('configuration', `node ${settings.name} of organization ${settings.org}`);
    const known = settings;
    await checkCommands(known, good, bad);
    await checkSystems(known, good, bad);
    await checkFacts(known, good, warn);
    const identity = await need('key', () => loadIdentity(known));
    await checkKeyMode(known.keyFile, good, bad);
    const { date: serverDate, fingerprint } = await need('server', () => reach(identity));
    good('server', `${identity.server.origin} answers`);
    checkClock(serverDate, clock.now(), good, bad);
    const curve = zeromqSockets.curveKeys();
    const pin = await need('server key', () => ServerPin.open(known.dataDir, durableFiles));
    const asking = { curvePublicKey: curve.publicKey, knownKey: pin.known };
    const { configuration } = await requestConfiguration(identity, asking, clock.now()).catch((error: unknown) => {
      const stranger = isRefusal(error) ? strangerText(fingerprint, pin.known, known.dataDir) : null;
      if (stranger === null) bad('discovery', explain(error));
      else bad('server key', stranger);
      throw new Blocked();
    });
    good('discovery', `the server knows this node; heartbeat every ${configuration.push_jobs.heartbeat.interval} s`);
    const serverKeys = await need('server key', async () => pin.check(configuration));
    const state =
      pin.known === null
        ? 'is believed from the first start of the agent on'
        : 'is the one that the node knows, or follows from it';
    good('server key', `the server's key ${state}`);
    await checkSockets({ configuration, serverKeys }, identity, curve, clock, good, bad);
  } catch (error) {
    if (!(error instanceof Blocked)) throw error;
  }
  return { ok: checks.every(({ ok }) => ok), paragraph: paragraph(settings, checks), checks };
}

type Note = (name: CheckName, detail: string) => void;

/**
 * How far a kill reaches, and whether the limits can be kept: in the control group of the agent that runs, or, when none
 * does, in that of whoever asks.
 */
async function checkCommands(settings: AgentSettings, good: Note, bad: Note): Promise<void> {
  const running = await livingOwner(join(settings.dataDir, 'agent.pid'));
  const pid = running ?? process.pid;
  const where = running === null ? ' (no agent runs: as one started from here would be)' : '';
  const limits = limitFiles(settings.config.limits ?? {});
  try {
    const base = await groupOf(pid);
    await probe(base, pid);
    await requireControllers(base, controllersOf(limits));
    good('commands', `${KILLED_BY_GROUP}${where}`);
  } catch (error) {
    if (!(error instanceof CgroupsUnusable)) throw error;
    if (limits.length === 0) return good('commands', `${KILLED_BY_TREE}: ${error.message}${where}`);
    bad('commands', new MusterError('limits_unusable', { reason: `${error.message}${where}` }).advice);
  }
}

/** Execution systems of jobs, where the owner of the node allows them. */
async function checkSystems({ config: { systems } }: AgentSettings, good: Note, bad: Note): Promise<void> {
  if (systems === undefined) return;
  const { user, roots } = systems;
  const problems = await systemProblems(systems);
  if (problems.length > 0) bad('systems', problems.join('; '));
  else good('systems', `jobs run as ${user} below ${roots.join(', ')}`);
}

/** The program of the node's owner, if there is one: run as the agent runs it. */
async function checkFacts({ config: { facts } }: AgentSettings, good: Note, warn: Note): Promise<void> {
  const { program, timeout } = facts;
  if (program === undefined) return;
  try {
    const names = Object.keys(await runFactsProgram({ program, timeoutMs: timeout * 1000 }));
    good('facts', `${program} tells ${names.length === 0 ? 'none' : names.join(', ')}`);
  } catch (error) {
    // The agent goes on with those that it had.
    warn('facts', `${program} tells no facts: ${explain(error)}`);
  }
}

async function checkKeyMode(file: string, good: Note, bad: Note): Promise<void> {
  const { mode } = await stat(file);
  const trouble = readByOthers(file, mode);
  if (trouble === null) good('key', `${file} is private`);
  else bad('key', trouble);
}

interface Reached {
  readonly date: number | null;
  /** Of the key that the server says it has, which proves nothing; null: it says none. */
  readonly fingerprint: string | null;
}

async function reach(identity: NodeIdentity): Promise<Reached> {
  const { server, ca } = identity;
  await lookup(server.hostname.replace(/^\[|\]$/g, ''));
  const prefix = server.pathname.replace(/\/+$/, '');
  const answer = await http({ url: new URL(`${prefix}/_status`, server), method: 'GET', headers: {}, ca });
  if (answer.status >= 500) throw new Error(`${server.origin} answers with status ${answer.status}`);
  return { date: answer.date, fingerprint: fingerprintIn(answer.body) };
}

function fingerprintIn(status: string): string | null {
  try {
    const { server_key: key } = JSON.parse(status) as { readonly server_key?: { readonly fingerprint?: unknown } };
    return typeof key?.fingerprint === 'string' && /^[0-9a-f]{64}$/.test(key.fingerprint) ? key.fingerprint : null;
  } catch {
    return null;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof MusterError && error.code === 'configuration_refused';
}

/** Of a server that refuses this node, and so does not prove how its key follows from the known one; null: it says that it has that. */
function strangerText(said: string | null, known: string | null, dataDir: string): string | null {
  if (said === null || known === null || said === known) return null;
  return (
    `the server refuses this node, and says that its key is ${said}; the node knows ${known}. If that key was not replaced ` +
    '(muster server-key status), this is not the server that the node knows: is something between node and server that poses as it? ' +
    `Only if the server was set up anew, remove ${pinFile(dataDir)} and enrol again with --enroll-file`
  );
}

function checkClock(serverDate: number | null, now: number, good: Note, bad: Note): void {
  if (serverDate === null) return good('clock', 'the server does not tell its time');
  const skew = Math.round(Math.abs(serverDate - now) / 1000);
  if (skew * 1000 < LIMITS.messageSkewMs / 2) return good('clock', `${skew} s from the server’s`);
  bad(
    'clock',
    `this machine’s clock is ${skew} s from the server’s; messages are dropped at 300 s. Set the clock (NTP)`,
  );
}

/** Opens both sockets for a moment. Nothing is sent on them. */
async function checkSockets(
  {
    configuration,
    serverKeys,
  }: { readonly configuration: NodeConfiguration; readonly serverKeys: readonly KeyObject[] },
  identity: NodeIdentity,
  curve: CurveKeys,
  clock: Clock,
  good: Note,
  bad: Note,
): Promise<void> {
  const { out_addr: heartbeat, command_addr: command, interval } = configuration.push_jobs.heartbeat;
  const beatMs = Math.max(Math.min(interval * 2000 + 1000, DOCTOR_HEARTBEAT_MS), DOCTOR_CHANNEL_MS);
  let channel: 'connected' | 'refused' | null = null;
  let beat: string | null = null;
  let dropped: string | null = null;
  let wake: () => void = () => undefined;
  const setup = {
    configuration,
    sockets: zeromqSockets,
    curve,
    privateKey: identity.key,
    serverKeys,
    incarnation: 'doctor',
    clock,
  };
  const connection = new Connection(
    { ...setup, logger: pino({ level: 'silent' }) },
    { take: () => null, putBack: () => undefined },
    {
      heartbeat: ({ server }) => {
        beat = server;
        wake();
      },
      message: () => undefined,
      channel: (event) => {
        if (event === 'connected' || (event === 'refused' && channel === null)) channel = event;
        wake();
      },
      dropped: (cause) => {
        dropped = cause;
      },
    },
  );
  connection.open();
  await new Promise<void>((resolve) => {
    const limits = [clock.after(DOCTOR_CHANNEL_MS, () => beat !== null && resolve()), clock.after(beatMs, resolve)];
    wake = () => {
      if (channel !== 'connected' || beat === null) return;
      for (const limit of limits) limit.cancel();
      resolve();
    };
  });
  connection.close();

  if (channel === 'connected') good('command channel', `${command} connected and encrypted`);
  else if (channel === 'refused')
    bad('command channel', `${command} refuses our key; is something between node and server?`);
  else bad('command channel', `${command} cannot be reached; open this port from the node to the server`);

  if (beat !== null) good('heartbeat', `heard ${beat} at ${heartbeat}`);
  else if (dropped !== null) bad('heartbeat', `heartbeats at ${heartbeat} are not accepted (${dropped})`);
  else
    bad(
      'heartbeat',
      `no heartbeat at ${heartbeat} within ${Math.round(beatMs / 1000)} s; open this port to the server`,
    );
}

function explain(error: unknown): string {
  if (error instanceof MusterError) return error.advice;
  return error instanceof Error ? error.message : String(error);
}

function paragraph(settings: AgentSettings | null, checks: readonly DoctorCheck[]): string {
  const who = settings === null ? 'This node' : `Node ${settings.name}`;
  const wrong = checks.filter(({ ok }) => !ok);
  const warnings = checks.filter(({ warning }) => warning);
  const besides = warnings.length === 0 ? '' : ` Besides, mend this: ${told(warnings)}.`;
  if (wrong.length === 0) {
    return `${who} can do everything an agent needs: its configuration and key are good, the server knows it, the command channel connects and the server’s heartbeat is heard. If it is still not available, ask the server: muster node why ${settings?.name ?? 'NAME'}.${besides}`;
  }
  return `${who} is not available as it is. ${told(wrong)}.${besides}`;
}

function told(checks: readonly DoctorCheck[]): string {
  return checks.map(({ name, detail }) => `${name}: ${detail.replace(/\.$/, '')}`).join('; ');
}
