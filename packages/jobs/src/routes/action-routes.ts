import type { App } from '@muster/platform/http';
import { Type } from 'typebox';
import type { Resubmission } from '../controller/acceptance.js';
import { MusterError } from '../errors.js';
import { readFields } from '../request/body.js';
import { echo, refused } from '../request/refusal.js';
import { isTerminal } from '../status.js';
import type { Job } from '../types.js';
import { addJobRoute, type Call, type JobRouteDeps } from './deps.js';
import type { Answer } from './envelope.js';
import { enveloped, JobAnswer } from './schemas.js';
import { jobView } from './view.js';

type Fields = Readonly<Record<string, unknown>>;
type Act = (call: Call, fields: Fields) => Promise<Answer>;

/** What is done with jobs (sheet §8.4): each by its own path, and as clients of Agave ask for it. */
export function actionRoutes(app: App, deps: JobRouteDeps): void {
  const { acceptance, commands, setVisible } = deps;
  const shown = ({ links }: Call, job: Job, message?: string): Answer => ({
    result: jobView(job, links),
    ...(message !== undefined && { message }),
  });

  const stop: Act = async (call) => {
    const { job } = await call.job('own', 'cancel');
    const stopped = await commands.stop(job, call.asker);
    await call.did('cancel', job);
    return shown(
      call,
      stopped,
      `JOBS_JOB_CANCEL_ACCEPTED Request to cancel job ${job.uuid} was accepted: it becomes STOPPED, and what runs of it is ended.`,
    );
  };
  const goOn = async (call: Call, job: Job): Promise<Answer> => {
    const resumed = await commands.resume(job, call.asker);
    await call.did('resume', job);
    return shown(call, resumed);
  };
  const pause: Act = async (call) => {
    const { job } = await call.job('own', 'pause');
    const paused = await commands.pause(job, call.asker);
    await call.did('pause', job);
    return shown(call, paused);
  };
  const resume: Act = async (call) => {
    const { job } = await call.job('own', 'resume');
    return goOn(call, job);
  };
  const visibility =
    (visible: boolean): Act =>
    async (call) => {
      const { job } = await call.job('own', visible ? 'unhide' : 'hide');
      const { job: now, changed } = await setVisible(job, visible, call.asker);
      if (changed) await call.did(visible ? 'unhide' : 'hide', job);
      const state = visible ? 'unhidden' : 'hidden';
      const said = changed ? 'JOBS_JOB_CHANGED_VISBILITY Job' : 'JOBS_JOB_VISBILITY Already so: job';
      return shown(call, now, `${said} ${job.uuid} is ${state}.`);
    };
  const resubmit =
    (status: number): Act =>
    async (call, fields) => {
      const known = await call.job('own', 'resubmit');
      const { organization, asker } = call;
      const taken = (job: Job) => deps.auth.audit.record(call.entry('resubmit', job, { of: known.job.uuid }));
      const job = await acceptance.resubmit(organization, asker, known, readResubmission(fields), taken);
      return { status, ...shown(call, job) };
    };
  /** Makes a job go on that waits. Others go on by themselves: a worker that is lost is replaced. */
  const reset: Act = async (call) => {
    const { asker } = call;
    const { job } = await call.job('own', 'reset');
    const { uuid, status } = job;
    if (!asker.admin) throw new MusterError('job_forbidden', { user: asker.user, action: 'reset', job: uuid });
    if (isTerminal(status)) throw new MusterError('job_ended', { job: uuid, status });
    if (status === 'PAUSED') return goOn(call, job);
    return shown(call, job, `There is nothing to reset: job ${uuid} is ${status}, and goes on by itself.`);
  };

  const suffix = (names: readonly string[], summary: string, act: Act, status = 200): void => {
    for (const name of names) {
      addJobRoute(app, deps, {
        method: 'POST',
        path: `/:id/${name}`,
        operationId: `${name}Job`,
        summary,
        result: enveloped(JobAnswer),
        status,
        handle: async (call) => act(call, await fieldsOf(call)),
      });
    }
  };
  suffix(['cancel', 'kill', 'stop'], 'Stop a job; 409 when it has ended', stop);
  suffix(['pause'], 'Pause a job; what runs of it on its system goes on running', pause);
  suffix(['resume'], 'Let a paused job go on', resume);
  suffix(['hide'], 'Hide a job that has ended from lists', visibility(false));
  suffix(['unhide'], 'Show a hidden job in lists again', visibility(true));
  suffix(['resubmit'], 'Submit the request of a job again, as another job', resubmit(201), 201);

  addJobRoute(app, deps, {
    method: 'DELETE',
    path: '/:id',
    operationId: 'deleteJob',
    summary: 'Hide a job that has ended from lists',
    result: enveloped(JobAnswer),
    handle: (call) => visibility(false)(call, {}),
  });

  const actions: Readonly<Record<string, Act>> = {
    stop,
    cancel: stop,
    kill: stop,
    resubmit: resubmit(202),
    restore: visibility(true),
    hide: visibility(false),
    unhide: visibility(true),
    pause,
    resume,
    reset,
  };
  addJobRoute(app, deps, {
    method: 'POST',
    path: '/:id',
    operationId: 'actOnJob',
    summary: 'Do something with a job, as clients of Agave ask for it',
    description: 'A form or JSON with `action`: stop, resubmit, restore or reset.',
    body: Type.Object({ action: Type.String() }, { additionalProperties: true }),
    result: enveloped(JobAnswer),
    async handle(call) {
      const fields = await fieldsOf(call);
      const { action } = fields;
      if (action === undefined || action === '') throw refused('ALOE_NULL_PARAMETER', 'action', 'No action specified');
      const name = String(action).toLowerCase();
      const act = Object.hasOwn(actions, name) ? actions[name] : undefined;
      if (act !== undefined) return act(call, fields);
      const reason = `Invalid action ${echo(action)}: stop, resubmit, restore or reset`;
      throw refused('ALOE_INVALID_PARAMETER', 'action', reason);
    },
  });
}

function fieldsOf({ request }: Call): Promise<Fields> {
  const { headers, rawBody } = request;
  return readFields({ contentType: headers['content-type'], bytes: rawBody });
}

function readResubmission(fields: Fields): Resubmission {
  return {
    ignoreInputConflicts: flag(fields, 'ignoreInputConflicts', false),
    ignoreParameterConflicts: flag(fields, 'ignoreParameterConflicts', false),
    preserveNotifications: flag(fields, 'preserveNotifications', true),
  };
}

/** Forms have no booleans. */
function flag(fields: Fields, name: string, otherwise: boolean): boolean {
  const value = fields[name] ?? otherwise;
  const text = String(value).toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw refused('ALOE_INVALID_PARAMETER', name, 'must be true or false');
}
