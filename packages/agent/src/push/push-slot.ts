import type { Clock } from '@muster/base';
import { type AgentMessage, type ServerMessage, UPGRADE_COMMAND } from '@muster/wire';
import { type Ended, Execution, type ExecutionSettings } from '../execution/execution.js';
import { checkJob } from '../execution/prepare.js';
import type { NotedRun, RunNote } from '../execution/run-note.js';
import { openBeneath, PathRefused } from '../files/beneath.js';
import type { FileSource } from '../files/download.js';
import { JobFiles } from '../files/job-files.js';
import type { FilePolicy } from '../files/policy.js';
import { fetchSecrets, type SecretSource, withSecretPaths } from '../files/secrets.js';
import type { Host } from '../host.js';
import { OUTPUT_CHUNK, OUTPUT_RESEND_MS, STOP_OUTPUT_MS } from '../limits.js';
import type { AgentLog } from '../logging.js';
import type { Resumed } from '../upgrade/resume.js';
import type { Upgrades } from '../upgrade/upgrades.js';
import { CommandController } from './controller.js';
import { type Machine, type PreparedJob, reportedState, type StartKind } from './machine.js';
import { ownVariables } from './variables.js';

/** What the slot asks of the connection to the server. */
export interface PushLink {
  /** Whether the server takes messages now. */
  readonly established: boolean;
  /** Most bytes kept of each output stream, and of a message's body. */
  readonly outputLimit: number;
  readonly bodyLimit: number;
  /** False when the message was dropped. */
  send(message: AgentMessage): boolean;
  /** There may be output to take. */
  outputReadable(): void;
}

export interface PushSlotSetup {
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly random: () => number;
  readonly host: Pick<Host, 'facts' | 'processes'>;
  readonly nodeName: string;
  /** The node owner's settings as they are now. */
  readonly settings: () => ExecutionSettings;
  readonly note: RunNote;
  readonly link: PushLink;
  readonly fileSource: FileSource;
  readonly secretSource: SecretSource;
  /** Null: this agent cannot be replaced. */
  readonly upgrades: Upgrades | null;
}

const NO_SUPERVISOR =
  'nothing watches over this agent, which could bring the old version back: upgrade was added to agent.yaml after it was started; restart it';

type PushMessage = Extract<ServerMessage, { type: 'prepare' | 'start' | 'abort' }>;
type OutputStored = Extract<ServerMessage, { type: 'output_stored' }>;

/** The agent's place for the command of a push job: one at a time, as the specification has it (Push Jobs §5.7). */
export class PushSlot {
  readonly #setup: PushSlotSetup;
  readonly #controller: CommandController;
  readonly #files: JobFiles;
  #interrupted: NotedRun | null = null;
  #heard = false;
  /** When the server last acknowledged output, or output was last sent again. */
  #outputStoredAt = 0;

  constructor(setup: PushSlotSetup) {
    this.#setup = setup;
    const { clock, logger, note } = setup;
    this.#files = new JobFiles({ clock, source: setup.fileSource });
    this.#controller = new CommandController({
      clock,
      logger,
      note,
      send: (message) => this.#send(message),
      check: (job, signal) => this.#refusal(job, signal),
      release: (jobId) => this.#files.drop(jobId),
      execution: (job, ended) => this.#execution(job, ended),
    });
  }

  get machine(): Machine {
    return this.#controller.machine;
  }

  /** How the agent starts, and what it left running when it crashed. */
  begin(start: StartKind, interrupted: NotedRun | null): void {
    this.#interrupted = interrupted;
    this.#controller.apply({ type: 'looked_back', start, interrupted: interrupted?.subject ?? null });
  }

  /** The agent before has handed over in the middle of its own upgrade: its push job goes on here. */
  resume({ change: { jobId, to, captured: capture } }: Resumed): void {
    const job = { jobId, command: `${UPGRADE_COMMAND} ${to}`, capture, options: {}, timeoutMs: null };
    this.#controller.apply({ type: 'looked_back', start: 'clean', interrupted: null, resumed: job });
  }

  /** It is known how the upgrade has ended. */
  resumedEnded({ change: { jobId, captured }, outcome }: Resumed): void {
    this.#setup.logger.info({ job: jobId, outcome: outcome.outcome, reason: outcome.reason }, 'ended');
    const bytes = captured ? { stdout: 0, stderr: 0 } : null;
    this.#controller.apply({ type: 'exited', result: { jobId, ...outcome }, bytes });
  }

  /** See CommandController.handOver. */
  handOver(): Promise<void> {
    return this.#controller.handOver();
  }

  /** The server's first word. */
  heard(): void {
    if (this.#heard) return;
    this.#heard = true;
    this.#controller.apply({ type: 'server_heard' });
    // The crash has been told: the note of what was running has served.
    if (this.#interrupted !== null && this.#controller.executing === null) void this.#setup.note.clear();
  }

  serverLost(): void {
    this.#controller.stopChecking();
    this.#controller.apply({ type: 'server_lost' });
  }

  serverBack(): void {
    this.#controller.apply({ type: 'server_back' });
  }

  receive(message: PushMessage): void {
    this.#controller.receive(message);
  }

  heartbeat(): AgentMessage {
    const { reported } = this.#controller;
    return { type: 'heartbeat', ...reportedState(reported), last: reported.last?.result ?? null };
  }

  /** Output travels while its command runs; what is left when it was aborted is not wanted any more. */
  takeOutput(): AgentMessage | null {
    return this.#controller.machine.phase.kind === 'running' ? this.#outputMessage() : null;
  }

  outputStored({ jobId, stream, offset }: OutputStored): void {
    const { executing } = this.#controller;
    if (executing?.jobId !== jobId) return;
    this.#outputStoredAt = this.#setup.clock.now();
    executing.execution.output.stored(stream, offset);
  }

  /** What was on its way may be lost. */
  resendOutput(): void {
    this.#controller.executing?.execution.output.rewind();
  }

  /** Once per heartbeat interval. */
  tick(): void {
    const now = this.#setup.clock.now();
    // Either way: the clock may have been set back.
    if (Math.abs(now - this.#outputStoredAt) < OUTPUT_RESEND_MS) return;
    this.#outputStoredAt = now;
    this.resendOutput();
  }

  /** Ends a running command; see CommandController.stop. What it had written so far is worth having. */
  stop(limitMs: number): Promise<boolean> {
    if (this.#controller.executing?.execution.exited === false) this.#flushOutput();
    return this.#controller.stop(limitMs, this.#setup.link.established ? STOP_OUTPUT_MS : 0);
  }

  async #refusal(job: PreparedJob, signal: AbortSignal): Promise<string | null> {
    const { jobId, command, options } = job;
    const settings = this.#setup.settings();
    const { fileDir, files: policy } = settings;
    const check = await checkJob(settings, command, withSecretPaths(options, fileDir));
    const refused =
      'refused' in check
        ? check.refused
        : ((await this.#setup.host.processes.elsewhere?.refusal(options.dir, signal)) ??
          (await this.#unfetchable(options.fetch, policy)) ??
          (check.passed.plan.kind === 'upgrade'
            ? await this.#stageUpgrade(job, check.passed.plan.version, fileDir, signal)
            : await this.#files.stage({ jobId, options, account: check.passed.account, fileDir, policy }, signal)));
    if (refused !== null) this.#setup.logger.info({ job: jobId, command }, `refused: ${refused}`);
    return refused;
  }

  /** What is not signed is refused before anything starts anywhere. */
  async #stageUpgrade(job: PreparedJob, version: string, fileDir: string, signal: AbortSignal): Promise<string | null> {
    const { upgrades } = this.#setup;
    if (upgrades === null) return NO_SUPERVISOR;
    const { jobId, options } = job;
    const policy = { upload: (dest: string) => upgrades.placeOf(dest) };
    const staged = await this.#files.stage({ jobId, options, account: null, fileDir, policy }, signal);
    if (staged !== null) return staged;
    const refused = await upgrades.refuse(version, options, (dest) => this.#files.partOf(jobId, dest));
    if (refused !== null) await this.#files.drop(jobId);
    return refused;
  }

  /** Why a file cannot be given whole. */
  async #unfetchable(path: string | undefined, policy: FilePolicy): Promise<string | null> {
    const place = path === undefined ? null : policy.fetch(path);
    if (path === undefined || place === null) return null;
    const { outputLimit } = this.#setup.link;
    try {
      const { handle, stats } = await openBeneath(place, path);
      await handle.close();
      if (stats.size <= outputLimit) return null;
      return `'${path}' has ${stats.size} bytes; at most ${outputLimit} can be fetched (push.output_limit of the server)`;
    } catch (error) {
      if (error instanceof PathRefused) return error.message;
      throw error;
    }
  }

  #execution(job: PreparedJob, ended: Ended): Execution {
    const { clock, random, logger, host, link, nodeName, settings, secretSource, upgrades } = this.#setup;
    const { jobId, command, options, capture } = job;
    logger.info({ job: jobId, command }, 'running');
    this.#outputStoredAt = clock.now();
    const execution = new Execution(
      {
        command,
        options,
        capture,
        own: ownVariables(nodeName, jobId),
        outputLimit: link.outputLimit,
        secrets: (names, signal) => fetchSecrets({ clock, source: secretSource }, jobId, names, signal),
        files: { script: this.#files.scriptOf(jobId), place: () => this.#files.place(jobId) },
        ...(upgrades !== null && {
          upgrade: (version: string, signal: AbortSignal) =>
            upgrades.run({ jobId, version, captured: capture }, signal),
        }),
      },
      settings(),
      { clock, random, logger, facts: host.facts, processes: host.processes },
      (outcome, bytes) => {
        logger.info({ job: jobId, outcome: outcome.outcome, reason: outcome.reason }, 'ended');
        ended(outcome, bytes);
      },
    );
    execution.output.onReadable = () => link.outputReadable();
    return execution;
  }

  #send(message: AgentMessage): void {
    // What the command had written so far is worth having; nothing is waited for.
    if (message.type === 'aborted' && message.from === 'running') this.#flushOutput();
    if (!this.#setup.link.send(message)) this.#setup.logger.debug({ type: message.type }, 'not sent');
  }

  #flushOutput(): void {
    this.#controller.executing?.execution.output.end();
    for (let piece = this.#outputMessage(); piece !== null; piece = this.#outputMessage()) {
      if (!this.#setup.link.send(piece)) return;
    }
  }

  #outputMessage(): AgentMessage | null {
    const { executing } = this.#controller;
    if (executing === null) return null;
    const piece = executing.execution.output.take(this.#chunk());
    return piece === null ? null : { type: 'output', jobId: executing.jobId, ...piece };
  }

  /** Base64 takes four thirds; the rest of the message takes less than a KiB. */
  #chunk(): number {
    const room = Math.floor(((this.#setup.link.bodyLimit - 1024) * 3) / 4);
    return Math.max(Math.min(OUTPUT_CHUNK, room), 1);
  }
}
