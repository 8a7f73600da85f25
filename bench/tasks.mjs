import { call, metrics, ORG, series } from './api.mjs';
import { countCpu } from './proc.mjs';

/** What the figures of tasks share. */

const LINES_AT_ONCE = 10_000;
const BUSY_MS = 500;
const LOOK_SOONEST_MS = 10;
const LOOK_LATEST_MS = 500;
/** Longest time without one more end. */
const STALLED_MS = 60_000;

/**
 * Milliseconds that `work` takes, and seconds of CPU that the processes named by `processes` use for it: what else the machine
 * does changes the former by much, the latter by little.
 */
export async function clocked(processes, work) {
  const used = await countCpu(processes);
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  return { ms, cpu: await used() };
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function createQueue(server, name, settings = {}) {
  await done(call(server, 'POST', `/organizations/${ORG}/queues`, { name, plugin: 'noop', ...settings }), 201);
}

/** `pause` or `resume`. */
export async function tellQueue(server, name, action) {
  await done(call(server, 'POST', `/organizations/${ORG}/queues/${name}/${action}`), 200);
}

export async function queueCounts(server, name) {
  return (await (await done(call(server, 'GET', `/organizations/${ORG}/queues/${name}`), 200)).json()).counts;
}

/** How tasks are added: as lines, with an access token, as scripts do. */
export async function adder(server) {
  const { token } = await (await done(call(server, 'POST', '/access_tokens', { ttl: 86_400 }), 201)).json();
  const post = (queue, type, body) =>
    fetch(new URL(`/organizations/${ORG}/queues/${queue}/tasks`, server.url), {
      method: 'POST',
      headers: { accept: 'application/json', authorization: `Bearer ${token}`, 'content-type': type },
      body,
      ...(typeof body === 'string' ? {} : { duplex: 'half' }),
    });
  return {
    one: (queue, params) => done(post(queue, 'application/json', JSON.stringify({ params })), 201),
    async lines(queue, body) {
      return (await done(post(queue, 'application/x-ndjson', body), 200)).json();
    },
    /** Some thousands of tasks a request, as the CLI does. @param paramsOf From the number of the task. */
    async add(queue, count, paramsOf = () => ({})) {
      for (let from = 0; from < count; ) {
        const most = Math.min(LINES_AT_ONCE, count - from);
        const answer = await post(queue, 'application/x-ndjson', linesOf(from, most, paramsOf));
        // On a busy machine the database may take too long; what was added before stays, and the rest is added again.
        const busy = answer.status === 503;
        from += busy ? (await answer.json()).added : (await (await done(answer, 200)).json()).added;
        if (busy) await pause(BUSY_MS);
      }
    },
  };
}

export function linesOf(from, count, paramsOf) {
  let text = '';
  for (let n = from; n < from + count; n++) text += `${JSON.stringify({ params: paramsOf(n) })}\n`;
  return text;
}

async function done(answering, status) {
  const answer = await answering;
  if (answer.status !== status)
    throw new Error(`${new URL(answer.url).pathname}: ${answer.status} ${await answer.text()}`);
  return answer;
}

/** Tasks that have succeeded, which is counted when it is stored. One that ended otherwise ends the bench. */
export async function succeededTasks(server) {
  const text = await metrics(server);
  const succeeded = series(text, 'muster_tasks_ended_total', { status: 'succeeded' });
  const ended = series(text, 'muster_tasks_ended_total');
  if (ended !== succeeded) throw new Error(`${ended - succeeded} tasks did not succeed`);
  return succeeded;
}

/** Resolves when so many have succeeded since the server began. */
export async function untilSucceeded(server, count) {
  await progressing(async () => count - (await succeededTasks(server)), 'tasks');
}

/**
 * Waits until nothing is missing, as long as that becomes less. Looking costs who is asked something: the next look is when
 * half of the time has passed that is left at this pace.
 */
export async function progressing(missing, what) {
  const began = performance.now();
  const first = await missing();
  let [least, since] = [first, began];
  for (let now = first; now > 0; now = await missing()) {
    const at = performance.now();
    if (now < least) [least, since] = [now, at];
    if (at - since > STALLED_MS) throw new Error(`${now} ${what} are missing, and none came in ${STALLED_MS / 1000} s`);
    const left = first > now ? ((at - began) * now) / (first - now) : 0;
    await pause(Math.min(Math.max(left / 2, LOOK_SOONEST_MS), LOOK_LATEST_MS));
  }
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export const perSecond = (count, ms) => Math.round((count * 1000) / ms);

export const databaseOf = (databaseUrl) => (databaseUrl === undefined ? 'sqlite' : 'postgres');
