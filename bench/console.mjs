import { generateKeyPairSync } from 'node:crypto';
import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, call, ORG, pushJob, rounded } from './api.mjs';
import { figures, launch, signIn, traced } from './browser.mjs';
import { startServer } from './server.mjs';

export const about =
  'work of a browser on the list of N nodes: while a push job runs on all, and while it is scrolled (--nodes)';
export const defaults = { nodes: 10_000 };

/** One notch of a wheel, and what somebody who drags the scroll bar passes between two frames: half a hundred rows. */
const NOTCH_PX = 120;
const DRAG_PX = 4000;
/** As the style of the console has it. */
const ROW_PX = 40;

/** The console in Chromium, on a real server with simulated nodes: what its main thread did, as Chromium traces it. */
export async function* run({ nodes, databaseUrl }) {
  const server = await startServer({ databaseUrl });
  const up = Math.ceil(nodes / 10);
  const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: up, admin: server.admin });
  const browser = await launch();
  try {
    console.error(`console: connecting ${up} nodes, and registering ${nodes - up}`);
    await allAvailable(server, up);
    await register(server, nodes - up);
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await signIn(server, page);
    yield* firstPaint(server, page, nodes);
    yield* eventsToPage(server, page);
    await page.goto(`${server.url}/console/${ORG}/nodes?sort=since`);
    await page.locator('.table-row').first().waitFor();

    console.error('console: a push job on those that are up');
    const events = await traced(browser, page, async () => {
      await pushJob(server, fleet.names);
      await page.waitForTimeout(2000);
    });
    yield* figures('console-events', events, nodes);

    console.error('console: scrolling through all nodes');
    await page.locator('.table-scroll').hover();
    yield* scrolling('console', browser, page, nodes);
    yield* plainTable(browser, nodes);
  } finally {
    await browser.close();
    await fleet.stop();
    await server.stop();
  }
}

function newKey() {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' });
}

/** Nodes that are there, and never come up. */
async function register(server, count) {
  const public_key = newKey();
  let next = 0;
  const some = async () => {
    while (next < count) {
      const name = `absent-${String(next++).padStart(6, '0')}`;
      const { status } = await call(server, 'POST', `/organizations/${ORG}/nodes`, { name, public_key });
      if (status !== 201) throw new Error(`POST nodes: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, some));
}

/** The list of all nodes, nothing of it in the browser's cache: the first paint, the first row, and what was fetched for it. */
async function* firstPaint(server, page, nodes) {
  const fresh = await page.context().browser().newContext();
  await fresh.addCookies(await page.context().cookies());
  const cold = await fresh.newPage();
  await cold.goto(`${server.url}/console/${ORG}/nodes`);
  await cold.locator('.table-row').first().waitFor();
  const row = await cold.evaluate('performance.now()');
  const { paint, bytes } = await cold.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(({ name }) => new URL(name).pathname.startsWith('/console/'))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
  }));
  await fresh.close();
  yield { figure: 'console-first-paint', value: rounded(paint), unit: 'ms', target: 500, nodes };
  yield { figure: 'console-first-row', value: rounded(row), unit: 'ms', target: 1500, nodes };
  yield { figure: 'console-first-bytes', value: rounded(bytes / 1000), unit: 'KB', target: 90, nodes };
}

/**
 * The floor: the same rows as a table of plain HTML, without any script, in the same browser.
 */
async function* plainTable(browser, nodes) {
  console.error('console: a plain table of as many rows');
  const rows = Array.from({ length: nodes }, (_, n) => {
    const name = `absent-${String(n).padStart(6, '0')}`;
    return `<tr><td><input type="checkbox"></td><td><a href="#${n}">${name}</a></td><td>✕ down</td><td>5 min</td><td>–</td><td>linux</td><td>role:web env:prod</td></tr>`;
  });
  const html = `<!doctype html><title>rows</title><style>td{height:40px}</style><table>${rows.join('\n')}</table>`;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.route('http://rows.invalid/', (route) => route.fulfill({ contentType: 'text/html', body: html }));
  await page.goto('http://rows.invalid/');
  const { paint, all } = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    all: performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
  }));
  yield { figure: 'console-floor-first-paint', value: rounded(paint), unit: 'ms', nodes };
  yield { figure: 'console-floor-all-rows', value: rounded(all), unit: 'ms', nodes };
  await page.mouse.move(600, 400);
  for await (const { target: _, ...figure } of scrolling('console-floor', browser, page, nodes)) yield figure;
  await page.close();
}

/** Work of the page on the way down through all rows as fast as a scroll bar is dragged, and up again as a wheel is turned. */
async function* scrolling(figure, browser, page, nodes) {
  for (const [how, step] of [
    ['scroll', DRAG_PX],
    ['wheel', -NOTCH_PX],
  ]) {
    const tasks = await traced(browser, page, async () => {
      for (let at = 0; at < nodes * ROW_PX; at += Math.abs(step)) await page.mouse.wheel(0, step);
    });
    yield* figures(`${figure}-${how}`, tasks, nodes);
  }
}

const EVENTS = 200;

/** From the request that makes a node until the event that tells of it stands in the page. */
async function* eventsToPage(server, page) {
  await page.goto(`${server.url}/console/${ORG}/events?from=-1s&q=${encodeURIComponent("type = 'node.created'")}`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByText('Nothing yet').waitFor();
  await page.evaluate(() => {
    globalThis.seen = new Map();
    new MutationObserver(() => {
      for (const [, n] of document.body.innerText.matchAll(/tick-(\d+)\b/g)) {
        if (!globalThis.seen.has(n)) globalThis.seen.set(n, Date.now());
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const public_key = newKey();
  const began = [];
  for (let n = 0; n < EVENTS; n += 1) {
    began.push(Date.now());
    const { status } = await call(server, 'POST', `/organizations/${ORG}/nodes`, { name: `tick-${n}`, public_key });
    if (status >= 300) throw new Error(`POST nodes: ${status}`);
  }
  await page
    .getByText(`tick-${EVENTS - 1}`)
    .first()
    .waitFor();
  const seen = await page.evaluate('[...seen]');
  const took = seen.map(([n, at]) => at - began[n]).sort((a, b) => a - b);
  if (took.length < EVENTS) throw new Error(`${took.length} of ${EVENTS} events were seen`);
  const value = took[Math.floor(took.length * 0.95)];
  yield {
    figure: 'console-event-to-page',
    value,
    unit: 'ms',
    target: 250,
    median: took[took.length / 2],
    events: EVENTS,
  };
}
