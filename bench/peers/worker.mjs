/**
 * A worker process of a peer: `node worker.mjs PEER URL SLOTS`. Begins when it is told to, says how many tasks it has done,
 * and ends with its parent.
 */
const [, , name, url, slots] = process.argv;
const TELL_MS = 20;

const { work } = await import(`./${name}.mjs`);
let [done, told] = [0, 0];
setInterval(() => {
  if (done !== told) process.send({ done });
  told = done;
}, TELL_MS);

process.on('disconnect', () => process.exit());
process.once('message', async () => {
  await work(url, Number(slots), (count) => {
    done += count;
  });
  process.send({ begun: true });
});
process.send({ ready: true });
