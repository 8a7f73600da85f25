import type { AgentMessage, Clock, Facts, ServerMessage, Timer } from '@muster/wire';
import { type CommandPolicy, commandPolicy } from './command-policy.js';
import type { NodeIdentity } from './configuration-request.js';
import { CommandController } from './controller.js';
import { type Ended, Execution } from './execution.js';
import { sameFacts } from './facts.js';
import type { Host } from './host.js';
import type { Journal, LookBack } from './incarnation.js';
import { FACTS_MS, OUTPUT_CHUNK, OUTPUT_RESEND_MS, STOP_COMMAND_MS, STOP_FLUSH_MS } from './limits.js';
import { Link } from './link.js';
import type { AgentLog } from './logging.js';
import { type PreparedJob, reportedState } from './machine.js';
import { Outbox } from './outbox.js';
import { checkCommand } from './prepare.js';
import type { AgentSettings } from './settings.js';

export interface DaemonSetup {
  readonly settings: AgentSettings;
  readonly identity: NodeIdentity;
  readonly journal: Journal;
  readonly past: LookBack;
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly random: () => number;
  readonly host: Host;
}

/** The agent at work: ties the link to the server to the command machine. */
export class Daemon {
  readonly #setup: DaemonSetup;
  readonly #outbox: Outbox;
  readonly #link: Link;
  readonly #controller: CommandController;
  #settings: AgentSettings;
  #policy: CommandPolicy;
  #told: { readonly facts: Facts; readonly labels: string } | null = null;
  #outputStoredAt = 0;
  #timers: Partial<Record<'facts' | 'sweep', Timer>> = {};
  #heard = false;

  constructor(setup: DaemonSetup) {
    this.#setup = setup;
    this.#settings = setup.settings;
    this.#policy = this.#policyOf(setup.settings);
    this.#outbox = new Outbox(
      () => this.#heartbeat(),
      () => this.#output(),
    );
    const { clock, logger, random, identity, journal, host } = setup;
    const { incarnation } = setup.past;
    this.#link = new Link({ identity, incarnation, clock, logger, random, host }, this.#outbox, {
      connected: () => this.#connected(),
      heard: () => this.#serverHeard(),
      message: (message) => this.#message(message),
      offline: () => this.#controller.apply({ type: 'server_lost' }),
      online: () => this.#online(),
      tick: () => this.#resendOutput(),
    });
    this.#controller = new CommandController({
      clock,
      logger,
      send: (message) => this.#send(message),
      check: (job) => this.#refusal(job),
      execution: (job, ended) => this.#execution(job, ended),
      remember: (jobId, run) => journal.remember({ jobId, run }),
      forget: () => journal.forget(),
    });
  }

  start(): void {
    const { past } = this.#setup;
    this.#controller.apply({
      type: 'looked_back',
      start: past.start,
      interrupted: past.interrupted?.jobId ?? null,
    });
    this.#sweep();
    this.#watchFacts();
    this.#link.reconfigure('starting');
  }

  get online(): boolean {
    return this.#link.online;
  }

  get incarnation(): string {
    return this.#setup.past.incarnation;
  }

  get established(): boolean {
    return this.#link.established;
  }

  get machine() {
    return this.#controller.machine;
  }

  reconfigure(): void {
    this.#link.reconfigure('asked to');
  }

  /** New allow-list, labels and limits; a command that runs is not touched. */
  reload(settings: AgentSettings): void {
    const policy = this.#policyOf(settings);
    this.#settings = settings;
    this.#policy = policy;
    this.#tellFacts(false);
  }

  async stop(): Promise<void> {
    for (const timer of Object.values(this.#timers)) timer.cancel();
    const graceMs = this.#settings.config.grace * 1000;
    const gone = await this.#controller.stop(graceMs + STOP_COMMAND_MS);
    if (!gone) this.#setup.logger.error('the command could not be killed; it is left behind');
    await this.#link.close(STOP_FLUSH_MS);
    await this.#setup.journal.saveIncarnation(this.#setup.past.incarnation);
  }

  #policyOf(settings: AgentSettings): CommandPolicy {
    const policy = commandPolicy(settings.config);
    for (const note of policy.notes) this.#setup.logger.warn(note);
    return policy;
  }

  async #refusal(job: PreparedJob): Promise<string | null> {
    const check = await checkCommand(this.#policy, job.command, job.options);
    if ('passed' in check) return null;
    this.#setup.logger.info({ job: job.jobId, command: job.command }, `refused: ${check.refused}`);
    return check.refused;
  }

  #execution(job: PreparedJob, ended: Ended): Execution {
    const { clock, random, logger, host } = this.#setup;
    const { config, name, fileDir } = this.#settings;
    logger.info({ job: job.jobId, command: job.command }, 'running');
    this.#outputStoredAt = clock.now();
    const execution = new Execution(
      job,
      this.#link.configuration?.output_limit ?? 0,
      {
        policy: this.#policy,
        nodeName: name,
        fileDir,
        graceMs: config.grace * 1000,
        overwritable: config.allowed_overwritable_env_vars,
      },
      { clock, random, logger, facts: host.facts, processes: host.processes, online: () => this.#link.online },
      (result, bytes) => {
        logger.info({ job: job.jobId, outcome: result.outcome, reason: result.reason }, 'ended');
        ended(result, bytes);
      },
    );
    execution.output.onReadable = () => this.#outbox.onReadable();
    return execution;
  }

  #send(message: AgentMessage): void {
    // What the command had written so far is worth having; nothing is waited for.
    if (message.type === 'aborted' && message.from === 'running') this.#flushOutput();
    if (!this.#outbox.push(message)) this.#setup.logger.debug({ type: message.type }, 'not sent');
  }

  #flushOutput(): void {
    const output = this.#controller.execution?.output;
    if (output === undefined) return;
    output.end();
    for (let piece = output.take(this.#chunk()); piece !== null; piece = output.take(this.#chunk())) {
      if (!this.#outbox.push(piece)) return;
    }
  }

  #heartbeat(): AgentMessage {
    const { reported } = this.#controller;
    return { type: 'heartbeat', ...reportedState(reported), last: reported.last?.result ?? null };
  }

  /** Output travels while its command runs; what is left when it was aborted is not wanted any more. */
  #output(): AgentMessage | null {
    if (this.#controller.machine.phase.kind !== 'running') return null;
    return this.#controller.execution?.output.take(this.#chunk()) ?? null;
  }

  /** Base64 takes four thirds; the rest of the message takes less than a KiB. */
  #chunk(): number {
    const room = Math.floor((((this.#link.configuration?.max_body_size ?? 0) - 1024) * 3) / 4);
    return Math.max(Math.min(OUTPUT_CHUNK, room), 1);
  }

  #connected(): void {
    this.#controller.execution?.output.rewind();
    this.#outbox.greet();
    this.#tellFacts(true);
  }

  #serverHeard(): void {
    if (this.#heard) return;
    this.#heard = true;
    this.#controller.apply({ type: 'server_heard' });
    // The crash has been told: the note of what was running has served.
    if (this.#setup.past.interrupted !== null && this.#controller.execution === null) {
      void this.#setup.journal.forget();
    }
  }

  #online(): void {
    this.#outbox.greet();
    this.#controller.apply({ type: 'server_back' });
    this.#controller.execution?.output.rewind();
    this.#tellFacts(true);
  }

  #message(message: ServerMessage): void {
    switch (message.type) {
      case 'prepare':
      case 'start':
        // §4.3: requests are accepted again once the server is online.
        if (this.#link.online) this.#controller.receive(message);
        return;
      case 'abort':
        return this.#controller.receive(message);
      case 'welcome':
        this.#controller.execution?.output.rewind();
        return;
      case 'reconfigure':
        return this.#link.reconfigureSoon('the server asks for it');
      case 'output_stored': {
        const execution = this.#controller.execution;
        if (execution?.job.jobId !== message.jobId) return;
        this.#outputStoredAt = this.#setup.clock.now();
        return execution.output.stored(message.stream, message.offset);
      }
    }
  }

  #resendOutput(): void {
    const now = this.#setup.clock.now();
    // Either way: the clock may have been set back.
    if (Math.abs(now - this.#outputStoredAt) < OUTPUT_RESEND_MS) return;
    this.#outputStoredAt = now;
    this.#controller.execution?.output.rewind();
  }

  #tellFacts(always: boolean): void {
    const facts = this.#setup.host.facts();
    const { labels } = this.#settings.config;
    const text = JSON.stringify(labels);
    if (!always && this.#told !== null && sameFacts(this.#told.facts, facts) && this.#told.labels === text) return;
    if (this.#outbox.push({ type: 'facts', facts, labels })) this.#told = { facts, labels: text };
  }

  #watchFacts(): void {
    this.#timers.facts = this.#setup.clock.after(FACTS_MS, () => {
      this.#tellFacts(false);
      this.#watchFacts();
    });
  }

  #sweep(): void {
    const expiryMs = this.#settings.config.file_dir_expiry * 1000;
    void this.#setup.host.sweepJobFiles(this.#settings.fileDir, expiryMs, this.#setup.clock.now());
    this.#timers.sweep = this.#setup.clock.after(expiryMs, () => this.#sweep());
  }
}
