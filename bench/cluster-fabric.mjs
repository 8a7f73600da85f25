import { openCluster } from './cluster.mjs';
import { eventLogin } from './fabric.mjs';
import { fan, figure } from './fabric-fanout.mjs';

export const about =
  'deliveries/s at a fan-out of 100: all at the server that leads, and publisher and half of the subscribers at a second one (--rounds, --seconds)';
export const defaults = { rounds: 5, seconds: 5 };

const SIZES = [200, 600];

/** What a second server passes on to the one that leads, both ways, beside what that does alone: in turn, with the same two running. */
export async function* run({ rounds, seconds, databaseUrl }) {
  const cluster = await openCluster(databaseUrl);
  try {
    for (const name of ['a', 'b']) await cluster.add(name);
    const [leader, follower] = cluster.servers;
    const { admin } = cluster.behind;
    const credentials = await eventLogin({ url: `http://127.0.0.1:${leader.port}`, admin });
    const pids = { leader: leader.child.pid, follower: follower.child.pid };
    for (const size of SIZES) {
      const [two, one] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        // Of the cluster itself there are events, too.
        const common = { name: 'stomp', credentials, size, seconds, pids, selector: "type = 'bench.x'" };
        two.push(await fan({ ...common, ports: [follower.stomp, leader.stomp] }));
        one.push(await fan({ ...common, ports: [leader.stomp] }));
      }
      yield figure(`cluster-fabric-${size}`, two, one, { size });
    }
  } finally {
    await cluster.close();
  }
}
