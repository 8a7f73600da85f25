/**
 * A module plugin whose first line tells how long its task was on the way: milliseconds from `params.at`, a reading of the
 * monotonic clock, which all processes of a machine share. Then it takes `params.ms`, if that is given.
 */
import { appendFileSync } from 'node:fs';

export async function run({ params }) {
  const late = Number(process.hrtime.bigint() - BigInt(params.at)) / 1e6;
  appendFileSync(params.file, `${late}\n`);
  if (params.ms > 0) await new Promise((resolve) => setTimeout(resolve, params.ms));
}
