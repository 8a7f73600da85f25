import { slotsOf, startJobServer } from './jobs.mjs';
import { pause, percentile, progressing } from './tasks.mjs';

export const about = 'From the answer to a submission to the job’s first phase, at half of what the workers work off';
export const defaults = { rate: 10, seconds: 30, slots: 20 };

const TARGET_P99_MS = 50;

/** @param rate Jobs a second: half of `jobs-noop`. */
export async function* run({ rate, seconds, slots, databaseUrl, profile }) {
  const jobs = await startJobServer({ databaseUrl, profile, flags: slotsOf(slots) });
  try {
    await jobs.register();
    const answered = new Map();
    const body = jobs.body();
    const submit = async () => {
      const id = await jobs.submit(body);
      answered.set(id, Date.now());
    };
    await submit();
    await progressing(async () => 1 - (await jobs.count(`status = 'FINISHED'`)), 'jobs');
    answered.clear();
    const under = [];
    const began = performance.now();
    for (let n = 0; n < rate * seconds; n++) {
      await pause(Math.max(0, began + (n * 1000) / rate - performance.now()));
      under.push(submit());
    }
    await Promise.all(under);
    await progressing(async () => answered.size + 1 - (await jobs.count(`status = 'FINISHED'`)), 'jobs');
    const text = `select uuid, at::float8 as at from job_history where event = 'PENDING'`;
    const begun = new Map((await jobs.database.query(text)).rows.map(({ uuid, at }) => [uuid, at]));
    // One that begins before its answer has arrived waited for nothing.
    const late = [...answered].map(([id, at]) => Math.max(0, begun.get(id) - at));
    for (const [name, share, target] of [
      ['p50', 0.5, null],
      ['p99', 0.99, TARGET_P99_MS],
    ]) {
      const value = Number(percentile(late, share).toFixed(1));
      yield {
        figure: `jobs-latency-${name}`,
        value,
        unit: 'ms',
        target,
        floor: null,
        ratio: null,
        ...{ jobs: late.length, rate, slots, broker: jobs.broker, database: 'postgres' },
      };
    }
  } finally {
    await jobs.stop();
  }
}
