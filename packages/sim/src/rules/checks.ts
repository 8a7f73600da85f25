import { Violation } from '../kernel/violation.js';
import type { RuleWorld } from './world.js';

/** What is stored fits together, whenever a server was killed. @throws Violation */
export async function check(world: RuleWorld): Promise<void> {
  const [rule, runs, approvals, jobs] = await Promise.all([
    world.rule(),
    world.runs(),
    world.approvals(),
    world.jobs(),
  ]);
  const toRule = approvals.filter(({ kind }) => kind === 'rule');
  const toRuns = approvals.filter(({ kind }) => kind === 'runbook');
  if (toRule.length > 1) throw new Violation('asked once', 'a rule was asked for twice');
  const agreement = toRule[0];
  if (agreement !== undefined && (agreement.status === 'started') !== (rule !== undefined)) {
    throw new Violation(
      'one commit',
      `the rule is ${agreement.status}, and there is ${rule === undefined ? 'none' : 'one'}`,
    );
  }
  const granted = new Map(toRuns.map((one) => [one.id, one]));
  const started = new Set<string>();
  for (const { run, outcome, reason } of runs) {
    const approval = granted.get(run ?? '');
    if (run === null || outcome !== (approval === undefined ? 'started' : 'asked'))
      throw new Violation('started', `a run ${outcome}: ${reason}`);
    if (started.has(run)) throw new Violation('once', `${run} is the work of two events`);
    started.add(run);
    if (approval !== undefined) continue;
    const job = jobs.find(({ id }) => id === run);
    if (job === undefined) throw new Violation('one commit', `${run} was started, and is not there`);
    if (agreement?.status !== 'started') throw new Violation('agreed to', `${job.command} runs, and nobody agreed`);
    if (!job.command.startsWith('clean 1 ')) throw new Violation('as agreed', `${job.command} runs`);
  }
  for (const { id, status, job, command } of toRuns) {
    if (!started.has(id)) throw new Violation('asked once', `${command} was asked for, and no event has it`);
    if ((status === 'started') !== (job !== null)) throw new Violation('one commit', `${command} is ${status}`);
    if (job === null) continue;
    const found = jobs.find((one) => one.id === job);
    if (found?.command !== command) throw new Violation('as agreed', `${command} was, ${found?.command} runs`);
    started.add(job);
  }
  const stray = jobs.find(({ id }) => !started.has(id));
  if (stray !== undefined) throw new Violation('agreed to', `${stray.command} runs for no event`);
}
