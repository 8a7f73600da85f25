import { signRequest } from '@muster/signing';
import { until } from './server.mjs';

export const ORG = 'default';

/** A signed call as the first admin. */
export function call({ url, admin }, method, path, content, accept = 'application/json') {
  const body = content === undefined ? '' : JSON.stringify(content);
  const signed = signRequest({
    method,
    path,
    body,
    userId: admin.name,
    timestamp: Date.now(),
    privateKey: admin.privateKey,
    version: '1.3',
    signQuery: true,
  });
  return fetch(new URL(path, url), {
    method,
    headers: { accept, ...(body === '' ? {} : { 'content-type': 'application/json' }), ...signed },
    ...(body === '' ? {} : { body }),
  });
}

/** All of `/metrics`, as text. */
export async function metrics({ url }) {
  return (await fetch(new URL('/metrics', url))).text();
}

/** One series of `/metrics`, the sum over its labels that match. */
export async function metric(server, name, labels) {
  return series(await metrics(server), name, labels);
}

export function series(text, name, labels = {}) {
  let sum = 0;
  for (const line of text.split('\n')) {
    if (!line.startsWith(name) || !/[ {]/.test(line[name.length] ?? '')) continue;
    if (Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`))) {
      sum += Number(line.slice(line.lastIndexOf(' ') + 1));
    }
  }
  return sum;
}

export function availableNodes(server) {
  return metric(server, 'muster_nodes', { status: 'up', owner: 'idle' });
}

/** Longest time without one more node: a slow machine needs more in all. */
const STALLED_MS = 120_000;

/** Waits until all are available, for as long as more of them come. */
export async function allAvailable(server, nodes) {
  let most = -1;
  for (;;) {
    const before = most;
    try {
      await until(
        `more than ${before} available nodes`,
        async () => {
          most = await availableNodes(server);
          return most > before || most === nodes;
        },
        STALLED_MS,
      );
    } catch {
      throw new Error(
        `${Math.max(most, 0)} of ${nodes} nodes are available, and no more came in ${STALLED_MS / 1000} s`,
      );
    }
    if (most === nodes) return;
  }
}

/** Milliseconds from POST until the organization's feed tells that the job is complete, which is when it is stored. */
export async function pushJob(server, nodes) {
  const feed = await call(server, 'GET', `/organizations/${ORG}/pushy/job_status_feed`, undefined, 'text/event-stream');
  const completions = jobCompletions(feed.body);
  const began = performance.now();
  const posted = await call(server, 'POST', `/organizations/${ORG}/pushy/jobs`, { command: 'noop', nodes });
  if (posted.status !== 201) throw new Error(`POST jobs: ${posted.status} ${await posted.text()}`);
  const { id } = await posted.json();
  for await (const completion of completions) {
    if (completion.job !== id) continue;
    const took = performance.now() - began;
    await stored(server, id, nodes.length);
    return took;
  }
  throw new Error('the feed ended before the job');
}

/** What was measured must be what the database says. */
async function stored(server, id, nodes) {
  const job = await (await call(server, 'GET', `/organizations/${ORG}/pushy/jobs/${id}`)).json();
  const succeeded = job.nodes.succeeded?.length ?? 0;
  if (job.status !== 'complete' || succeeded !== nodes) {
    const counts = Object.entries(job.nodes).map(([status, names]) => `${names.length} ${status}`);
    throw new Error(`job ${id} of ${nodes} nodes is ${job.status}: ${counts.join(', ')}`);
  }
}

async function* jobCompletions(body) {
  let text = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop();
    for (const event of events) {
      if (event.includes('event: job_complete')) yield JSON.parse(/^data: (.*)$/m.exec(event)[1]);
    }
  }
}

export const rounded = (value) => Math.round(value * 10) / 10;
