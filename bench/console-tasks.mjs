import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ORG, rounded } from './api.mjs';
import { launch, longestTask, signIn, traced } from './browser.mjs';
import { installPeers, startRedis } from './peers.mjs';
import { median, startServer } from './server.mjs';
import { adder, createQueue, tellQueue } from './tasks.mjs';

export const about =
  'a browser on a queue of N tasks (--tasks), beside the page that BullMQ’s users look at theirs with (bull-board)';
export const defaults = { tasks: 10_000, rounds: 5 };

const QUEUE = 'backlog';
const BOARD = fileURLToPath(new URL('./peers/board.mjs', import.meta.url));
/** Tasks that are added one after the other while somebody looks. */
const ADDED = 10;
const UNITS = { paint: 'ms', row: 'ms', bytes: 'KB', task: 'ms', told: 'ms' };

/** What is there at first, what came for it, and how long it takes until a page says that one more task waits: the slowest of those added. */
export async function* run({ tasks, rounds, databaseUrl }) {
  installPeers();
  const redis = await startRedis('everysec');
  if (redis === null) throw new Error('no redis-server, in which the peer keeps its queue');
  const server = await startServer({ databaseUrl });
  const board = fork(BOARD, [redis.url, QUEUE], { stdio: ['ignore', 2, 2, 'ipc'] });
  const browser = await launch();
  try {
    const [{ url }] = await once(board, 'message');
    await createQueue(server, QUEUE);
    await tellQueue(server, QUEUE, 'pause');
    const adding = await adder(server);
    console.error(`console-tasks: adding ${tasks} tasks to each`);
    await adding.add(QUEUE, tasks, (n) => ({ n }));
    await told(board, { add: tasks });

    const signedIn = await browser.newPage();
    await signIn(server, signedIn);
    const cookies = await signedIn.context().cookies();
    await signedIn.context().close();
    const ours = {
      url: `${server.url}/console/${ORG}/queues/${QUEUE}`,
      row: '.table-row',
      cookies,
      add: () => adding.one(QUEUE, {}),
    };
    const peer = {
      url: `${url}/queue/${QUEUE}?status=waiting`,
      row: 'text=/^#\\d+$/',
      cookies: [],
      add: () => told(board, { add: 1 }),
    };
    const looks = [];
    for (let round = 0; round < rounds; round += 1) {
      const there = tasks + round * ADDED;
      looks.push({ own: await look(browser, ours, there), peer: await look(browser, peer, there) });
    }
    for (const [name, unit] of Object.entries(UNITS)) {
      const value = median(looks.map(({ own }) => own[name]));
      const beside = median(looks.map((one) => one.peer[name]));
      const ratio = rounded(value / beside);
      yield { figure: `console-tasks-${name}`, value: rounded(value), unit, peer: rounded(beside), ratio, tasks };
    }
  } finally {
    await browser.close();
    if (board.connected) board.disconnect();
    await server.stop();
    await redis.drop();
  }
}

const grouped = (count) => count.toLocaleString('en-US');

async function told(board, order) {
  board.send(order);
  await once(board, 'message');
}

/** Nothing of it in the browser's cache; what is asked of other hosts is refused. */
async function look(browser, { url, row, cookies, add }, tasks) {
  const { host } = new URL(url);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.addCookies(cookies);
  await context.route(
    (asked) => asked.host !== host,
    (route) => route.abort(),
  );
  const page = await context.newPage();
  let first;
  const work = await traced(browser, page, async () => {
    await page.goto(url);
    await page.locator(row).first().waitFor();
    first = await page.evaluate('performance.now()');
  });
  const { paint, bytes } = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce(
      (sum, { encodedBodySize }) => sum + encodedBodySize,
      0,
    ),
  }));
  const waits = [];
  for (let more = 1; more <= ADDED; more += 1) {
    const began = performance.now();
    await add();
    await page.waitForFunction(
      (counts) => counts.some((count) => document.body.innerText.includes(count)),
      [grouped(tasks + more), String(tasks + more)],
    );
    waits.push(performance.now() - began);
  }
  waits.sort((a, b) => a - b);
  await context.close();
  return {
    paint,
    row: first,
    bytes: bytes / 1000,
    task: longestTask('', work).value,
    told: waits[ADDED - 1],
  };
}
