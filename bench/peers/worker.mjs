/**
 * A worker process of a peer: `node worker.mjs PEER URL SLOTS`. Begins and ends to work as often as it is told to, says how many
 * tasks it has done so far, and ends with its parent.
 */
const [, , name, url, slots] = process.argv;
const TELL_MS = 20;

const { work } = await import(`./${name}.mjs`);
let [done, told] = [0, 0];
setInterval(() => {
  if (done !== told) process.send({ done });
  told = done;
}, TELL_MS);

let stop;
const orders = {
  async begin() {
    stop = await work(url, Number(slots), (count) => {
      done += count;
    });
    process.send({ begun: true });
  },
  async end() {
    await stop();
    process.send({ ended: true });
  },
};

process.on('disconnect', () => process.exit());
process.on('message', (order) => orders[order]());
process.send({ ready: true });
