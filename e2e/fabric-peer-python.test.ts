import { fileURLToPath } from 'node:url';
import { ProcessPeer } from './support/peers/peer.js';
import { describePeer } from './support/peers/suite.js';
import { MARKER, StartedProcess } from './support/started-process.js';

// Needs Debian's python3-stomp; where it is missing, `npm test` leaves this file out and says so.
const PROGRAM = fileURLToPath(new URL('./support/peers/stomp-py.py', import.meta.url));

describePeer(
  'stomp.py',
  ({ cluster }) => {
    const env = { PATH: process.env.PATH, [MARKER]: cluster.marker };
    return new ProcessPeer(new StartedProcess('stomp.py', '/usr/bin/python3', [PROGRAM], { cwd: cluster.dir, env }));
  },
  { escapes: true, noticesSilence: true },
);
