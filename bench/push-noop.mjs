import { bareExchange, startSimulatedNodes } from '@muster/sim';
import { signRequest } from '@muster/wire';
import { freePort, median, startServer, until } from './server.mjs';

export const about = 'POST of a push job to `complete` on N simulated nodes whose command does nothing (--nodes)';

/** docs/architecture: a command on 10,000 connected nodes takes at most 3 s beyond the command's own time. */
const TARGET_MS_PER_NODE = 3000 / 10_000;

const ORG = 'default';

/**
 * The time from POST to the server's `job_complete`, when every vote, start and end of every node is stored, beside the
 * floor of the same run: one signed request and reply per node over the same kind of sockets.
 */
export async function* run({ nodes, rounds, databaseUrl }) {
  console.error(`push-noop: floor, ${nodes} nodes, ${rounds} rounds`);
  const floors = await bareExchange({ port: await freePort(), nodes, rounds });
  const server = await startServer({ databaseUrl });
  try {
    console.error(`push-noop: connecting ${nodes} nodes`);
    const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
    try {
      const times = [];
      for (let round = 0; round < rounds; round++) {
        await available(server, nodes);
        times.push(await pushJob(server, fleet.names));
        console.error(`push-noop: round ${round + 1}: ${times.at(-1).toFixed(0)} ms`);
      }
      const [value, floor] = [median(times), median(floors)];
      yield {
        figure: 'push-noop',
        value: rounded(value),
        unit: 'ms',
        target: rounded(TARGET_MS_PER_NODE * nodes),
        floor: rounded(floor),
        ratio: rounded(value / floor),
        nodes,
        database: databaseUrl === undefined ? 'sqlite' : 'postgres',
        samples: times.map(rounded),
        floor_samples: floors.map(rounded),
      };
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
}

async function available(server, nodes) {
  await until(`${nodes} available nodes`, async () => {
    const response = await call(server, 'GET', `/organizations/${ORG}/pushy/node_states`);
    const states = await response.json();
    return states.filter(({ availability }) => availability === 'available').length === nodes;
  });
}

/** Milliseconds from POST until the organization's feed tells that the job is complete. */
async function pushJob(server, nodes) {
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

function call({ url, admin }, method, path, content, accept = 'application/json') {
  const body = content === undefined ? '' : JSON.stringify(content);
  const signed = signRequest({
    method,
    path,
    body,
    userId: admin.name,
    timestamp: Date.now(),
    privateKey: admin.privateKey,
    version: '1.3',
  });
  return fetch(new URL(path, url), {
    method,
    headers: { accept, ...(body === '' ? {} : { 'content-type': 'application/json' }), ...signed },
    ...(body === '' ? {} : { body }),
  });
}

const rounded = (value) => Math.round(value * 10) / 10;
